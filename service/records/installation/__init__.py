"""Origin of the database: its schema, its seed, and the restores of its past."""
