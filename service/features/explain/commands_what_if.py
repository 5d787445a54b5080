"""``portcullis policy what-if``: access gained and lost by other codes or roles."""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping
from typing import get_args

from service.authz.engine.rules import PolicyFileError
from service.cli.output import show
from service.features.explain.api_what_if import WhatIfAnswer, WhatIfQuery, what_if_answer
from service.features.explain.reviewing import Review, add_review, gains_and_losses, review_one
from service.kernel.assurance import Demand
from service.laboratory.analysis.sources import READ_WITHIN, Source


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options: the role, the user or the resource, and its changes."""
    subject = parser.add_mutually_exclusive_group(required=True)
    subject.add_argument("--role", metavar="CODE", help="a role with other permission codes")
    subject.add_argument("--user", metavar="NAME", help="a user with other roles")
    subject.add_argument(
        "--resource",
        metavar="REQUEST",
        help="a resource such as 'GET /api/user', opened by other codes",
    )
    parser.add_argument(
        "--without", metavar="CODES", default="", help="what would be removed, separated by commas"
    )
    parser.add_argument(
        "--with", dest="with_", metavar="CODES", default="", help="what would be added, separated by commas"
    )
    parser.add_argument(
        "--assurance",
        metavar="DEMAND",
        choices=("none", *get_args(Demand)),
        help="the authentication that the resource would demand, such as two-factors",
    )
    parser.add_argument("--services", action="store_true", help="service accounts would satisfy that demand")
    add_review(parser)


def run(options: Namespace, environ: Mapping[str, str]) -> None:
    """Print the differences; raises ``ValidationFailed`` as the request does, and ``PolicyError``."""
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
                raise PolicyFileError("Users are in the database: name one by --data or the settings")
            return what_if_answer(standing, (), query)
        async with review.database.snapshot(within=READ_WITHIN) as connection:
            return what_if_answer(standing, await query.roles(connection), query)

    answer, source = review_one(options, environ, ask)
    show(options, answer, lambda: _lines_of_what_if(answer), source=source)


def _lines_of_what_if(answer: WhatIfAnswer) -> Iterator[str]:
    if answer.gains or answer.loses or not answer.demands:
        yield from gains_and_losses(answer.gains, answer.loses)
    for change in answer.demands:
        before, after = (" or ".join(words) or "nobody" for words in (change.before, change.after))
        yield f"{change.object}  {before} -> {after}"
