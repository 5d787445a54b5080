"""``portcullis policy ending``: the assignments of roles that end soon, as a table or as JSON."""

import json
import re
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from datetime import timedelta

from service.cli.lazy_commands import add_data, add_json
from service.cli.output import aligned, say, say_text, source_line
from service.features.assignments import store_ends
from service.features.assignments.store import Assignment
from service.kernel.clock import rfc3339
from service.operator.database import with_database
from service.operator.installation import name_of
from service.operator.stores import reachable
from service.records.database.transactions import Database
from service.settings import load

_WITHIN = 60.0  # seconds
_HEAD = ("USER", "ROLE", "ENDS", "REASON", "ASSIGNED BY")
_UNITS = {"d": timedelta(days=1), "h": timedelta(hours=1), "m": timedelta(minutes=1)}


def add_arguments(parser: ArgumentParser) -> None:
    add_data(parser)
    parser.add_argument(
        "--within", metavar="TIME", type=_time, default=_time("7d"), help="such as 12h or 30d; 7d by default"
    )
    add_json(parser)


def _time(text: str) -> timedelta:
    """Parse a duration from ``text``; raises ValueError for an invalid one."""
    if (match := re.fullmatch(r"([0-9]{1,4})([dhm])", text)) is None:
        raise ValueError(text)
    return int(match[1]) * _UNITS[match[2]]


def run(options: Namespace, environ: Mapping[str, str]) -> None:
    """Print the assignments whose expiry takes a role from an enabled user, ordered by expiry.

    Raises ``SchemaError`` and ``Unavailable``.
    """

    async def read(database: Database) -> list[Assignment]:
        async with database.snapshot(within=_WITHIN) as connection:
            return await store_ends.ending(connection, options.within)

    given = load(environ)
    with reachable(given) as settings:
        ending = with_database(settings, read)
    if options.json:
        items = [_members(each) for each in ending]
        say_text(json.dumps({"source": name_of(given), "items": items}, indent=2))
    else:
        say(source_line(name_of(given)), *aligned([_HEAD, *map(_cells, ending)]))


def _ends(each: Assignment) -> str:
    return "" if each.valid_until is None else rfc3339(each.valid_until)


def _members(each: Assignment) -> dict[str, object]:
    return {
        "id": each.id,
        "userId": each.user_id,
        "userName": each.user_name,
        "roleCode": each.role_code,
        "until": _ends(each),
        "reason": each.reason,
        "createdBy": each.created_by,
    }


def _cells(each: Assignment) -> tuple[str, ...]:
    return each.user_name, each.role_code, _ends(each), each.reason or "-", each.created_by or "-"
