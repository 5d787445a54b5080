"""``portcullis policy changes``: the changes since a revision, or since a user's last sign-off."""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping
from typing import Final

from service import settings as table
from service.audit.seals import seals_of
from service.cli.lazy_commands import add_usual
from service.cli.output import show
from service.errors import ValidationFailed
from service.features.reviews import store_sign_offs as sign_offs
from service.features.reviews.api_sign_offs import (
    ChangedAssignment,
    ChangesQuery,
    PolicyChanges,
    changes_since,
)
from service.features.reviews.sentences import sentence
from service.kernel.text import counted
from service.operator.database import with_database
from service.operator.installation import name_of
from service.operator.stores import reachable
from service.records import accounts
from service.records.database.transactions import Database
from service.records.published import policy_history

_ALL: Final = 10**9  # of each list


def add_arguments(parser: ArgumentParser) -> None:
    """Add the revision or user."""
    since = parser.add_mutually_exclusive_group(required=True)
    since.add_argument("--since", metavar="REVISION", type=int, help="since this revision")
    since.add_argument("--user", metavar="NAME", help="since the last sign-off of this user")
    add_usual(parser)


def run(options: Namespace, environ: Mapping[str, str]) -> None:
    """Print changed lines, demands, role codes and assignments, in the form of the API's answer.

    Raises ``ValidationFailed`` for an unknown user or revision, and for a user without a sign-off;
    ``RevisionUntrusted``, ``SchemaError`` and ``Unavailable``.
    """
    given = table.load(environ)
    with reachable(given) as settings:
        seals = seals_of(settings.oplog)

        async def read(database: Database) -> PolicyChanges:
            async with database.snapshot(within=policy_history.READ_WITHIN) as connection:
                mine = None
                if options.user is not None:
                    known = await accounts.standing(connection, options.user)
                    mine = None if known is None else await sign_offs.last_of(connection, known.user_id)
                    if mine is None:
                        raise ValidationFailed(("--user", sentence("no_such_sign_off")))
                query = ChangesQuery(since=options.since, page=1, size=_ALL)
                return await changes_since(connection, seals, query, mine)

        changes = with_database(settings, read)
    show(options, changes, lambda: _lines(changes), source=name_of(given))


def _lines(changes: PolicyChanges) -> Iterator[str]:
    signed = changes.sign_off
    by = "" if signed is None else f", signed off by {signed.user_name}: {signed.title}"
    yield f"From revision {changes.since} ({changes.since_time}{by}) to {changes.to}:"
    yield from (f"- {line}" for line in (*changes.removed_lines, *changes.removed_demands))
    yield from (f"+ {line}" for line in (*changes.added_lines, *changes.added_demands))
    for grant in changes.grants:
        sign = "+" if grant.change == "given" else "-"
        yield f"{sign} role {grant.role_code}: {grant.code}  {grant.at}"
    yield from map(_assignment, changes.assignments)
    lines = counted(len(changes.removed_lines) + len(changes.added_lines), "line")
    demands = counted(len(changes.removed_demands) + len(changes.added_demands), "demand")
    codes, assigned = counted(len(changes.grants), "code"), counted(len(changes.assignments), "assignment")
    yield f"{lines}, {demands}, {codes} of roles, {assigned}."


def _assignment(changed: ChangedAssignment) -> str:
    sign = {"given": "+", "ended": "-"}.get(changed.change, "!")
    until = f" until {changed.valid_until}" if changed.valid_until else ""
    reason = f": {changed.reason}" if changed.reason else ""
    return f"{sign} {changed.user_name} {changed.role_code}{until}, {changed.change} {changed.at}{reason}"
