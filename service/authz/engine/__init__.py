"""The engine: rules, lines, the enforcer and the decisions that it gives. Knows no database."""
