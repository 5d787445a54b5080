"""The addresses in a database URL."""

from __future__ import annotations

from collections.abc import Iterator

from psycopg.conninfo import conninfo_to_dict

from service.records.database.connection import DatabaseUrlError, conninfo
from service.records.database.servers import one_by_one


def tcp_addresses(url: str) -> Iterator[tuple[str, int]]:
    """Yield host and port of each server of ``url`` that may be asked for TLS; none of a URL that is wrong.

    Those of sockets in the file system are left out, and all if ``sslmode`` is ``disable``.
    """
    try:
        given = conninfo_to_dict(conninfo(url))
        each = one_by_one(given)
    except DatabaseUrlError:
        return
    if given.get("sslmode") == "disable":
        return
    for server in each:
        host = server.get("hostaddr") or server.get("host") or ""
        if host and not host.startswith(("/", "@")):
            yield host, int(server.get("port") or 5432)
