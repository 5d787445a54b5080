"""``portcullis policy replay``: which decisions of a log would come out differently."""

from __future__ import annotations

import asyncio
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from typing import Final

from service.authz.review.sources import NAMES, Source
from service.cli.answers import show
from service.cli.lazy_commands import add_data, add_json
from service.cli.policy_reviewing import Review, opened_log, review
from service.errors import ValidationFailed
from service.kernel.text import counted
from service.laboratory.replay import DifferingDecisions, Replayed, replay

DIFFERENT = 2
"""The exit status if a decision would come out differently."""

_SAYS = {"allow": "Would be refused:", "deny": "Would be allowed:"}

_LONGEST_LINE: Final = 1024 * 1024  # bytes; what is longer is no event, and is read in parts


def add_arguments(parser: ArgumentParser) -> None:
    """Add the log and the policy."""
    parser.add_argument("log", metavar="LOG", help="a decision log, or - for standard input")
    parser.add_argument(
        "--against", metavar="SOURCE", required=True, help=f"the policy that decides again: {NAMES}"
    )
    add_data(parser)
    add_json(parser)


def run(options: Namespace, environ: Mapping[str, str]) -> int:
    """Print what would come out differently; returns 2 if something would.

    Raises ``ValidationFailed`` for a log that can't be read or has no event, and ``PolicyError``.
    """
    with opened_log(options.log) as log:
        lines = iter(partial(log.readline, _LONGEST_LINE), b"")

        async def ask(found: Review, sources: Sequence[Source]) -> Replayed:
            policy = await found.proposed(sources[0])
            return await asyncio.to_thread(replay, policy, lines)

        answer = review(options, environ, (options.against,), ask)
    if answer.unreadable and not answer.events:
        raise ValidationFailed(("LOG", "no line of it is an event of a decision log"))
    show(options, answer, lambda: _told(answer))
    return DIFFERENT if answer.differing else 0


def _told(answer: Replayed) -> Iterator[str]:
    yield f"{answer.differing} of {counted(answer.events, 'decision')} would come out differently."
    for was, groups in groupby(answer.groups, key=lambda one: one.was):
        yield _SAYS[was]
        for one in groups:
            yield from _group(one)
    if answer.other:
        yield f"{counted(answer.other, 'line')} of other logs skipped."
    if answer.unreadable:
        yield f"{counted(answer.unreadable, 'line')} could not be read."


def _group(one: DifferingDecisions) -> Iterator[str]:
    roles = ", ".join(one.roles) or "no role"
    of = f" of {counted(one.users, 'user')}" if one.users else ""
    yield f"  {one.request}  {roles}: {counted(one.events, 'decision')}{of}, such as {one.decision}"
    joined = (" or " if one.needed == "any" else " and ").join(one.required)
    needs = f", which needs {joined}" if joined else ""
    yield f"    refused by {one.layer} {one.object}{needs}"
