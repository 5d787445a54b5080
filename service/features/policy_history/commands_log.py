"""``portcullis policy log``: the changes of the revisions in a period, and their authors."""

import re
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from service import settings as table
from service.audit.seals import seals_of
from service.cli.lazy_commands import add_usual
from service.cli.output import show
from service.features.policy_history.api_revisions import RevisionChanges
from service.features.policy_history.revision_log import PolicyLog, RightsChange, read_log
from service.kernel.text import counted, printable
from service.operator.database import with_database
from service.operator.installation import name_of
from service.operator.stores import reachable
from service.records.published.policy_revisions import RevisionFilter
from service.web.messages.schema import json_text

_UNITS = {"d": "days", "h": "hours", "m": "minutes"}


def add_arguments(parser: ArgumentParser) -> None:
    """Add the limits."""
    formats = "7d, 12h, 30m, 2026-11-15 (UTC) or a time with its zone"
    parser.add_argument("--since", metavar="TIME", type=_time, help=f"not before: {formats}")
    parser.add_argument("--until", metavar="TIME", type=_time, help="before")
    parser.add_argument("--user", metavar="NAME", help="only changes by this user")
    add_usual(parser)


def run(options: Namespace, environ: Mapping[str, str]) -> None:
    """Print the revisions, newest first; raises ``SchemaError`` and ``Unavailable``."""
    revision_filter = RevisionFilter(options.since, options.until, options.user)

    given = table.load(environ)
    with reachable(given) as settings:
        seals = seals_of(settings.oplog)
        answer = with_database(settings, lambda database: read_log(database, seals, revision_filter))
    show(options, answer, lambda: _lines(answer), source=name_of(given))


def _time(text: str) -> datetime:
    if match := re.fullmatch(r"([0-9]{1,5})([dhm])", text):
        return datetime.now(UTC) - timedelta(**{_UNITS[match[2]]: int(match[1])})
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise ArgumentTypeError(f"{text!r} is not a time such as 7d, 12h or 2026-11-15") from error
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _lines(answer: PolicyLog) -> Iterator[str]:
    entries = [(revision.create_time, list(_revision(revision))) for revision in answer.revisions]
    entries += [(change.create_time, list(_right(change))) for change in answer.rights]
    for _, lines in sorted(entries, key=lambda entry: entry[0], reverse=True):
        yield from lines
    revised, rights = counted(len(answer.revisions), "revision"), counted(len(answer.rights), "change")
    yield f"{revised}, {rights} of roles and users."


def _right(change: RightsChange) -> Iterator[str]:
    what = f"{change.create_time}  {change.user_name or '-'}  {change.target}: {change.field}"
    if not isinstance(change.before, list) or not isinstance(change.after, list):
        yield f"{what} {_value(change.before)} -> {_value(change.after)}"
        return
    yield what
    yield from (f"    - {removed}" for removed in change.before)
    yield from (f"    + {added}" for added in change.after)


def _value(value: Any) -> str:
    return json_text(value).decode()


def _revision(revision: RevisionChanges) -> Iterator[str]:
    who = revision.user_name or "-"
    yield f"{revision.create_time}  {who}  revision {revision.revision}: {revision.cause}"
    for signed in revision.sign_offs:
        note = f": {printable(signed.note)}" if signed.note else ""
        yield f"    signed off {signed.create_time} by {signed.user_name}, {printable(signed.title)}{note}"
    if revision.tampered:
        yield f"    {revision.tampered} lines or revisions had been changed directly in the database"
    if revision.distrust is not None:
        yield f"    NOT as it was published: {revision.distrust}"
        return
    if revision.added_lines is None or revision.removed_lines is None:
        yield "    its lines were not kept"
        return
    yield from (f"    - {line}" for line in revision.removed_lines)
    yield from (f"    + {line}" for line in revision.added_lines)
