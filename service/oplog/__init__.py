"""Operation and login log: entries, their collection and their writing.

Knows nothing of sessions, authorization or files; what it records is handed to it.
"""
