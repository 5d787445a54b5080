"""``portcullis policy log``: what the revisions of a time have changed, and who asked for them."""

from __future__ import annotations

import re
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import AsyncIterator, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from service import settings as table
from service.endpoints.policy.revisions import RevisionChanges, changes_answer
from service.kernel.text import counted
from service.launch.database import with_database
from service.launch.lazy_commands import add_data, add_json
from service.launch.output import ALL, show
from service.launch.policy.reviewing import WITHIN
from service.launch.stores import reachable
from service.records.database.transactions import Database
from service.records.logs.paging import Span
from service.records.logs.queries import CHANGING_OPERATIONS, OperationFilter
from service.records.logs.reader import LogReader
from service.records.policy import revisions
from service.records.policy.revisions import RevisionFilter
from service.web.requests.schema import Moment, Schema, json_text, moment

_RIGHTS: Final = {("role", "permissions"), ("role", "enabled"), ("user", "roles"), ("user", "status")}
"""The fields of records that decide who may do what, and that publish nothing."""
_MOST: Final = 100_000  # entries of the operation log


class RightsChange(Schema):
    """A change of what a role gives or a user has, as the operation log has it."""

    create_time: Moment
    user_name: str | None
    request_id: str | None
    target: str
    field: str
    before: Any
    after: Any


class PolicyLog(Schema):
    """Revisions, and changes of rights that publish nothing; both newest first."""

    revisions: list[RevisionChanges]
    rights: list[RightsChange]


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

    with reachable(table.load(environ)) as settings:
        answer = with_database(settings, lambda database: read_log(database, wanted))
    show(options, answer, lambda: "\n".join(_lines(answer)))


async def read_log(database: Database, wanted: RevisionFilter) -> PolicyLog:
    """Return all that ``wanted`` matches; raises Unavailable."""
    async with database.snapshot(within=WITHIN) as connection:
        found = await revisions.page(connection, wanted, page=1, size=ALL)
        items = [await changes_answer(connection, one) for one in found.items]
    return PolicyLog(revisions=items, rights=[one async for one in _rights(database, wanted)])


async def _rights(database: Database, wanted: RevisionFilter) -> AsyncIterator[RightsChange]:
    """Yield the changes of rights by successful calls, newest first."""
    filtered = OperationFilter(
        user_name=wanted.user_name,
        kind=("INSERT", "UPDATE", "DELETE", "IMPORT"),
        status=[(200, 299)],
        span=Span(wanted.begin, wanted.end),
    )
    async for batch in LogReader(database).everything(CHANGING_OPERATIONS, filtered, limit=_MOST):
        for entry in batch:
            for change in entry.changes or ():
                if (change["target"].partition(":")[0], change["field"]) in _RIGHTS:
                    yield RightsChange(
                        create_time=moment(entry.create_time),
                        user_name=entry.user_name,
                        request_id=entry.request_id,
                        target=change["target"],
                        field=change["field"],
                        before=change["before"],
                        after=change["after"],
                    )


def _time(text: str) -> datetime:
    if match := re.fullmatch(r"([0-9]{1,5})([dhm])", text):
        return datetime.now(UTC) - timedelta(**{_UNITS[match[2]]: int(match[1])})
    try:
        found = datetime.fromisoformat(text)
    except ValueError as error:
        raise ArgumentTypeError(f"{text!r} is no time such as 7d, 12h or 2026-11-15") from error
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _lines(answer: PolicyLog) -> Iterator[str]:
    entries = [(one.create_time, list(_revision(one))) for one in answer.revisions]
    entries += [(one.create_time, [_right(one)]) for one in answer.rights]
    for _, lines in sorted(entries, key=lambda entry: entry[0], reverse=True):
        yield from lines
    revised, rights = counted(len(answer.revisions), "revision"), counted(len(answer.rights), "change")
    yield f"{revised}, {rights} of roles and users."


def _right(one: RightsChange) -> str:
    return (
        f"{one.create_time}  {one.user_name or '-'}  {one.target}: "
        f"{one.field} {_value(one.before)} -> {_value(one.after)}"
    )


def _value(value: Any) -> str:
    return "(" + " ".join(map(str, value)) + ")" if isinstance(value, list) else json_text(value).decode()


def _revision(one: RevisionChanges) -> Iterator[str]:
    yield f"{one.create_time}  {one.user_name or '-'}  revision {one.revision}: {one.cause}"
    if one.tampered:
        yield f"    {counted(one.tampered, 'line')} had been changed past the service"
    if one.added_lines is None or one.removed_lines is None:
        yield "    its lines were not kept"
        return
    yield from (f"    - {line}" for line in one.removed_lines)
    yield from (f"    + {line}" for line in one.added_lines)
