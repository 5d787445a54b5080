"""``portcullis policy what-if``: who gains and loses what if codes or roles were others."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping, Sequence
from typing import get_args

from service.authz.engine.rules import PolicyError
from service.authz.review.sources import READ_WITHIN, Source
from service.cli.output import show
from service.cli.policy_reviewing import Review, add_review, review_one
from service.endpoints.policy_what_if import WhatIfAnswer, WhatIfQuery, what_if_answer
from service.kernel.assurance import Demand
from service.kernel.text import counted
from service.web.messages.dry_run import AccessChange


def add_arguments(parser: ArgumentParser) -> None:
    """Add what would be different, and how."""
    subject = parser.add_mutually_exclusive_group(required=True)
    subject.add_argument("--role", metavar="CODE", help="a role, which would give other permission codes")
    subject.add_argument("--user", metavar="NAME", help="a user, who would have other roles")
    subject.add_argument(
        "--resource",
        metavar="REQUEST",
        help="a resource such as 'GET /api/user', which other codes would open",
    )
    parser.add_argument(
        "--without", metavar="CODES", default="", help="what would be taken from it, by commas"
    )
    parser.add_argument(
        "--with", dest="with_", metavar="CODES", default="", help="what would be given to it, by commas"
    )
    parser.add_argument(
        "--assurance",
        metavar="DEMAND",
        choices=("none", *get_args(Demand)),
        help="what would be demanded of who sends requests to the resource, such as two-factors",
    )
    parser.add_argument("--services", action="store_true", help="service accounts would pass that demand")
    add_review(parser)


def run(options: Namespace, environ: Mapping[str, str]) -> None:
    """Print what would change; raises ``ValidationFailed`` as the request does, and ``PolicyError``."""
    query = WhatIfQuery(
        role_code=options.role,
        user_name=options.user,
        resource=options.resource,
        without=options.without,
        with_=options.with_,
        assurance=options.assurance,
        services=options.services,
    )

    async def ask(review: Review, source: Source) -> WhatIfAnswer:
        standing = await review.standing(source)
        if review.database is None:
            if query.user_name is not None:
                raise PolicyError("Users are in the database: name one by --data or the settings")
            return what_if_answer(standing, (), query)
        async with review.database.snapshot(within=READ_WITHIN) as connection:
            return what_if_answer(standing, await query.roles(connection), query)

    answer = review_one(options, environ, ask)
    show(options, answer, lambda: _lines(answer))


def _lines(answer: WhatIfAnswer) -> Iterator[str]:
    if answer.gains or answer.loses or not answer.demands:
        yield from gains_and_losses(answer.gains, answer.loses)
    for change in answer.demands:
        before, after = (" or ".join(words) or "nobody" for words in (change.before, change.after))
        yield f"{change.object}  {before} -> {after}"


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
