"""``portcullis policy unused``: unused rights, and smaller roles that would have sufficed."""

import asyncio
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from itertools import chain

from msgspec import json

from service.cli.lazy_commands import add_usual
from service.cli.output import show
from service.errors import ValidationFailed
from service.features.explain.reviewing import Review, opened_log, review
from service.features.reviews.api_unused import UnusedQuery, UnusedRights, unused_answer
from service.features.reviews.sentences import sentence
from service.features.reviews.unused import DAYS, MOST_DAYS, Unused, answer, read_unused
from service.kernel.text import counted
from service.laboratory.analysis.sources import LIVE, READ_WITHIN, Source
from service.web.messages.schema import WHOLE_LIST


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--days", type=int, default=DAYS, help=f"the last days, {DAYS} by default")
    parser.add_argument(
        "--log",
        action="append",
        default=[],
        metavar="FILE",
        help="a decision log with all decisions of these days (policy.decision_log_allows = 1); may be given "
        "more than once, for the logs of all nodes",
    )
    add_usual(parser)


def run(options: Namespace, environ: Mapping[str, str]) -> None:
    """Print unused rights and proposed smaller roles.

    Raises ``ValidationFailed`` for a number of days out of range and for an unreadable log, ``SchemaError``
    and ``Unavailable``.
    """
    if not 1 <= options.days <= MOST_DAYS:
        raise ValidationFailed(("days", sentence("days_out_of_range", most=MOST_DAYS)))

    async def ask(policies: Review, sources: tuple[Source, ...]) -> Unused:
        policy = await policies.policy(sources[0])
        assert policies.database is not None  # noqa: S101 - the live policy is stored
        async with policies.database.snapshot(within=READ_WITHIN) as connection:
            stored = await read_unused(connection, options.days, size=WHOLE_LIST)
        with ExitStack() as stack:
            logs = [stack.enter_context(opened_log(name)) for name in options.log]
            return await asyncio.to_thread(answer, stored, policy, chain(*logs), all_kept=bool(logs))

    read, source = review(options, environ, (LIVE,), ask)
    unused = unused_answer(read, UnusedQuery(days=options.days, size=WHOLE_LIST))
    for part in (unused.assignments, unused.codes, unused.keys, unused.scopes, unused.roles):
        part.size = part.total
    show(options, unused, lambda: _lines(unused, options.days), source=source)


def _lines(unused: UnusedRights, asked: int) -> Iterator[str]:
    if not unused.observed:
        since = unused.recorded_since or "never"
        yield f"Use is unknown: it has been recorded since {since}, for less than a day."
        return
    if unused.days < asked:
        days = counted(unused.days, "day")
        yield f"Uses are recorded since {unused.recorded_since}: this is about {days}, and not about {asked}."
    yield f"Not used since {unused.since}, {counted(unused.assignments.total, 'assignment')}:"
    for each in unused.assignments.items:
        yield f"  {each.role_code} of {each.user_name}, assignment {each.id}"
    if unused.assignments.total:
        scope = json.encode(unused.review_scope).decode()
        yield f"To ask others about them, begin a review with the scope {scope}."
    yield f"{counted(unused.codes.total, 'code')} of roles:"
    for code in unused.codes.items:
        yield f"  {code.code} of {code.role_code}"
    yield f"{counted(unused.keys.total, 'API key')}:"
    for key in unused.keys.items:
        yield f"  {key.key_name} of {key.user_name}, key {key.id}"
    yield f"{counted(unused.scopes.total, 'API key')} of people could have fewer scopes:"
    for smaller in unused.scopes.items:
        proposed = ", ".join(smaller.proposed) or "nothing"
        yield f"  {smaller.key_name} of {smaller.user_name}, key {smaller.id}: {proposed}"
    yield f"{counted(unused.roles.total, 'role')} could give less, by {unused.checked_by}:"
    for role in unused.roles.items:
        yield f"  {role.role_code}: {', '.join(role.proposed) or 'nothing'}"
