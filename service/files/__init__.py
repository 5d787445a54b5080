"""The object store that holds the content of files: its connections, its bucket, and every call to it.

Knows nothing of HTTP, sessions, authorization or the rows of files.
"""
