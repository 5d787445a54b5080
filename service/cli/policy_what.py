"""``portcullis policy what``: every request that a role, a user or a set of codes passes, and its grants."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping

from service.authz.engine.rules import PolicyError
from service.authz.proof.demands import beyond_login
from service.authz.review.sources import READ_WITHIN, Source
from service.authz.review.subjects import holder_of
from service.cli.output import aligned, show
from service.cli.policy_reviewing import Review, add_review, review_one
from service.endpoints.policy_who_may import Passed, What, WhatQuery, what_answer
from service.kernel.text import counted
from service.reporting.wording import by
from service.web.messages.schema import WHOLE_LIST


def add_arguments(parser: ArgumentParser) -> None:
    """Add the subject."""
    subject = parser.add_mutually_exclusive_group(required=True)
    subject.add_argument("--role", metavar="CODE", help="a role")
    subject.add_argument("--user", metavar="NAME", help="a user, by name")
    subject.add_argument(
        "--codes",
        metavar="CODES",
        help="permission codes, separated by commas; empty for a login without any",
    )
    add_review(parser)


def run(options: Namespace, environ: Mapping[str, str]) -> None:
    """Print what the subject passes; raises ``ValidationFailed`` if there is no such one, ``PolicyError``."""
    query = WhatQuery(
        role_code=options.role, user_name=options.user, codes=options.codes, page=1, size=WHOLE_LIST
    )

    async def ask(review: Review, source: Source) -> What:
        policy = await review.policy(source)
        if review.database is None:
            if query.codes is None:
                raise PolicyError("Roles and users are in the database: name one by --data or the settings")
            return what_answer(policy, holder_of(query.held_codes or []), query)
        async with review.database.snapshot(within=READ_WITHIN) as connection:
            asking = await query.subject(connection)
        return what_answer(policy, asking, query)

    answer = review_one(options, environ, ask)
    show(options, answer, lambda: _lines(answer))


def _lines(answer: What) -> list[str]:
    lines = [f"Held codes: {', '.join(answer.permissions) or 'none'}"]
    if answer.kept_out:
        return [*lines, "The user is disabled or banned: the service serves no request."]
    requests = [passed for passed in answer.items if passed.kind == "request"]
    grants = [passed for passed in answer.items if passed.kind == "grant"]
    if requests:
        rows = [_request(passed) for passed in requests]
        heads = ("REQUEST", "RESOURCE", "ENDPOINT", "ASSURANCE")
        width = len(heads) if any(row[-1] for row in rows) else len(heads) - 1
        lines += aligned([row[:width] for row in (heads, *rows)])
    if grants:
        lines += aligned([("MAY GRANT", "HELD"), *((passed.object, by(passed.grant)) for passed in grants)])
    return [*lines, f"{counted(len(requests), 'request')}, {counted(len(grants), 'code')} to grant."]


def _request(passed: Passed) -> tuple[str, ...]:
    stronger = " ".join(beyond_login(passed.assurance or ()))
    return passed.object, by(passed.resource), by(passed.endpoint), stronger
