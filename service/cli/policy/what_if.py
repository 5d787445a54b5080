"""``portcullis policy what-if``: who gains and loses what if a role gave other codes."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping

from service.authz.review.sources import Source
from service.cli.answers import show
from service.cli.policy.access_changes import gains_and_losses
from service.cli.policy.reviewing import Review, add_review, review_one
from service.endpoints.policy.what_if import WhatIfAnswer, WhatIfQuery, what_if_answer


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
