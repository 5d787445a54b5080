"""``portcullis user data``: the personal data of a user, as JSON."""

import re
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from typing import Final

from service.cli.lazy_commands import add_data
from service.errors import NotFound
from service.features.personal_data.copies import copy_of
from service.operator.database import with_database
from service.operator.stores import reachable
from service.records import accounts
from service.records.database.transactions import Database
from service.settings import load

_NUMBER: Final = re.compile("#[0-9]{1,18}")


def add_arguments(parser: ArgumentParser) -> None:
    add_data(parser)
    parser.add_argument("user_name", metavar="NAME", help="the user name, or #NUMBER, also of a deleted user")


def run(options: Namespace, environ: Mapping[str, str]) -> None:
    """Print the copy that the user can download, as JSON; see ``copies.copy_of``.

    Raises ``NotFound``, ``SchemaError`` and ``Unavailable``.
    """

    async def write(database: Database) -> None:
        user_id = await number_of(database, options.user_name)
        async for chunk in copy_of(database, user_id):
            sys.stdout.buffer.write(chunk)

    with reachable(load(environ)) as settings:
        with_database(settings, write)
    sys.stdout.buffer.flush()


async def number_of(database: Database, name: str) -> int:
    """Return the id of the user with that name, or the number of ``#NUMBER``; raises ``NotFound``."""
    if _NUMBER.fullmatch(name):
        return int(name[1:])
    async with database.snapshot() as connection:
        user = await accounts.standing(connection, name)
    if user is None:
        raise NotFound
    return user.user_id
