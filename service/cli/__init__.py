"""The command line: one module for each command, which reads options, calls the work, and prints.

Owns the options and texts of commands, and their exit statuses. Holds no rule: what a command does is in the
room of its matter, such as ``service.laboratory``.
"""
