"""The initial content of a new database, and what later versions add."""
