"""What an operator does at the command line: users, keys, the database, and the registered routes."""
