"""The timelines of the database."""
