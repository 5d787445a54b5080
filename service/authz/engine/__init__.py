"""The engine: rules, lines, the enforcer and its decisions. Does not use the database."""
