"""An installation in the hands of its operator: its stores, its database, its log, and who the operator is.

Owns what a start and the commands share: opening the stores that the settings name, a database for one
command, units of work under the operator's rights, entries of the logs. Knows no options, and prints nothing.
"""
