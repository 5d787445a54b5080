"""How the database came to be: its schema, what was seeded into it, and the restores of its past."""
