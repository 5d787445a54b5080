"""The operator's access to an installation: its stores, its database, its log, and the operator's identity.

Shared by a start and the commands: opening the stores in the settings, a database for one command, units of
work under the operator's rights, and log entries. Parses no options, and prints nothing.
"""
