"""How PostgreSQL's own programs, such as pg_dump, reach the database of a URL."""

from __future__ import annotations

from typing import NamedTuple

from psycopg.conninfo import make_conninfo
from psycopg.pq import Conninfo

from service.records.database.connection import conninfo


class Access(NamedTuple):
    """A connection string without secrets for ``--dbname``, and the variables of libpq with all the rest."""

    connection: str
    variables: dict[str, str]


def access_to(url: str) -> Access:
    """Return how a program reaches ``url``; the password goes into a variable. ValueError as ``conninfo``."""
    variables, arguments = {}, {}
    for option in Conninfo.parse(conninfo(url).encode()):
        if option.val is None:
            continue
        if option.envvar is not None:
            variables[option.envvar.decode()] = option.val.decode()
        else:
            arguments[option.keyword.decode()] = option.val.decode()
    return Access(make_conninfo("", **arguments), variables)
