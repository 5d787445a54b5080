"""``portcullis policy what-if``: who gains and loses what if a role gave other codes."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping, Sequence

from service.authz.review.sources import Source
from service.cli.output import show
from service.cli.policy_reviewing import Review, add_review, review_one
from service.endpoints.policy_what_if import WhatIfAnswer, WhatIfQuery, what_if_answer
from service.kernel.text import counted
from service.web.messages.dry_run import AccessChange


def add_arguments(parser: ArgumentParser) -> None:
    """Add the role and the codes."""
    parser.add_argument("--role", metavar="CODE", required=True, help="the role")
    parser.add_argument(
        "--without", metavar="CODES", default="", help="codes that it would no longer give, by commas"
    )
    parser.add_argument(
        "--with", dest="with_", metavar="CODES", default="", help="codes that it would give too, by commas"
    )
    add_review(parser)


def run(options: Namespace, environ: Mapping[str, str]) -> None:
    """Print what would change; raises ``ValidationFailed`` as the request does, and ``PolicyError``."""
    query = WhatIfQuery(role_code=options.role, without=options.without, with_=options.with_)

    async def ask(review: Review, source: Source) -> WhatIfAnswer:
        return what_if_answer(await review.standing(source), query)

    answer = review_one(options, environ, ask)
    show(options, answer, lambda: gains_and_losses(answer.gains, answer.loses))


def gains_and_losses(gains: Sequence[AccessChange], loses: Sequence[AccessChange]) -> Iterator[str]:
    """Yield a line for each role and request, ``+`` for a gain and ``-`` for a loss."""
    if not gains and not loses:
        yield "Nobody gains or loses anything."
    yield from (
        f"{sign} {change.role_code or 'no role'} ({counted(change.users, 'user')})  {name}"
        for sign, changes in (("-", loses), ("+", gains))
        for change in changes
        for name in change.access
    )
