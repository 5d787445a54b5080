"""``portcullis policy replay``: which decisions of a log would come out differently."""

import asyncio
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from typing import Final

from service.cli.lazy_commands import add_usual
from service.cli.output import show
from service.errors import ValidationFailed
from service.features.explain.reviewing import Review, opened_log, review
from service.features.policy_tests.replay import DifferingDecisions, Replayed, replay
from service.kernel.core_sentences import sentence
from service.kernel.text import counted
from service.laboratory.analysis.sources import NAMES, Source

DIFFERENT = 2
"""The exit status if a decision would come out differently."""

_SAYS = {"allow": "Would be refused:", "deny": "Would be allowed:"}

_LONGEST_LINE: Final = 1024 * 1024  # bytes; a longer line is no event, and is read in parts


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("log", metavar="LOG", help="a decision log, or - for standard input")
    parser.add_argument(
        "--against", metavar="SOURCE", required=True, help=f"the policy that decides again: {NAMES}"
    )
    add_usual(parser)


def run(options: Namespace, environ: Mapping[str, str]) -> int:
    """Print what would come out differently; returns 2 if something would.

    Raises ``ValidationFailed`` for a log that can't be read or has no event, and ``PolicyError``.
    """
    with opened_log(options.log) as log:
        lines = iter(partial(log.readline, _LONGEST_LINE), b"")

        async def ask(policies: Review, sources: Sequence[Source]) -> Replayed:
            policy = await policies.proposed(sources[0])
            return await asyncio.to_thread(replay, policy, lines)

        answer, source = review(options, environ, (options.against,), ask, roles=False)
    if answer.unreadable and not answer.events:
        raise ValidationFailed(("LOG", sentence("log_without_events")))
    show(options, answer, lambda: _report_lines(answer), source=source)
    return DIFFERENT if answer.differing else 0


def _report_lines(answer: Replayed) -> Iterator[str]:
    yield f"{answer.differing} of {counted(answer.events, 'decision')} would come out differently."
    for was, groups in groupby(answer.groups, key=lambda group: group.was):
        yield _SAYS[was]
        for group in groups:
            yield from _group(group)
    if answer.other:
        yield f"{counted(answer.other, 'line')} of other logs skipped."
    if answer.unreadable:
        yield f"{counted(answer.unreadable, 'line')} could not be read."


def _group(group: DifferingDecisions) -> Iterator[str]:
    roles = ", ".join(group.roles) or "no role"
    of = f" of {counted(group.users, 'user')}" if group.users else ""
    yield f"  {group.request}  {roles}: {counted(group.events, 'decision')}{of}, such as {group.decision}"
    joined = (" or " if group.needed == "any" else " and ").join(group.required)
    needs = f", which needs {joined}" if joined else ""
    yield f"    refused by {group.layer} {group.object}{needs}"
