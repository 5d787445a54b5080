"""What a new database starts with."""
