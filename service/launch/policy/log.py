"""``portcullis policy log``: what the revisions of a time have changed, and who asked for them."""

from __future__ import annotations

import re
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta

from service import settings as table
from service.endpoints.policy.revisions import RevisionChanges, changes_answer
from service.launch.database import with_database
from service.launch.lazy_commands import add_data, add_json
from service.launch.output import ALL, counted, show
from service.launch.policy.reviewing import WITHIN
from service.launch.stores import reachable
from service.records.database.transactions import Database
from service.records.policy import revisions
from service.records.policy.revisions import RevisionFilter
from service.web.requests.schema import Page

_UNITS = {"d": "days", "h": "hours", "m": "minutes"}


def add_arguments(parser: ArgumentParser) -> None:
    """Add the limits."""
    formats = "7d, 12h, 30m, 2026-11-15 (UTC) or a time with its zone"
    parser.add_argument("--since", metavar="TIME", type=_time, help=f"not before: {formats}")
    parser.add_argument("--until", metavar="TIME", type=_time, help="before")
    parser.add_argument("--user", metavar="NAME", help="only what this user asked for")
    add_data(parser)
    add_json(parser)


def run(options: Namespace, environ: Mapping[str, str]) -> None:
    """Print the revisions, newest first; raises ``SchemaError`` and ``Unavailable``."""
    wanted = RevisionFilter(options.since, options.until, options.user)

    async def read(database: Database) -> Page[RevisionChanges]:
        async with database.snapshot(within=WITHIN) as connection:
            found = await revisions.page(connection, wanted, page=1, size=ALL)
            items = [await changes_answer(connection, one) for one in found.items]
        return Page(items=items, page=1, size=ALL, total=found.total)

    with reachable(table.load(environ)) as settings:
        answer = with_database(settings, read)
    show(options, answer, lambda: "\n".join(_lines(answer)))


def _time(text: str) -> datetime:
    if match := re.fullmatch(r"([0-9]{1,5})([dhm])", text):
        return datetime.now(UTC) - timedelta(**{_UNITS[match[2]]: int(match[1])})
    try:
        found = datetime.fromisoformat(text)
    except ValueError as error:
        raise ArgumentTypeError(f"{text!r} is no time such as 7d, 12h or 2026-11-15") from error
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _lines(answer: Page[RevisionChanges]) -> Iterator[str]:
    for one in answer.items:
        yield f"{one.revision}  {one.create_time}  {one.user_name or '-'}  {one.cause}"
        if one.tampered:
            yield f"    {counted(one.tampered, 'line')} had been changed past the service"
        if one.added_lines is None or one.removed_lines is None:
            yield "    its lines were not kept"
            continue
        yield from (f"    - {line}" for line in one.removed_lines)
        yield from (f"    + {line}" for line in one.added_lines)
    yield f"{counted(answer.total, 'revision')}."
