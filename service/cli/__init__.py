"""The command line: one module for each command, which reads options, calls the work, and prints."""
