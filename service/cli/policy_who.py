"""``portcullis policy who METHOD PATH``: the roles that pass a request, or the users."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from typing import Final

from service.authz.engine.rules import METHODS, PolicyError
from service.authz.proof.demands import beyond_login
from service.authz.review.access import who
from service.authz.review.explain import Explanation
from service.authz.review.sources import READ_WITHIN, Source
from service.cli.output import aligned, show
from service.cli.policy_reviewing import Review, add_review, review_one
from service.endpoints.policy_who_may import PassingUser, Who, WhoQuery, who_answer
from service.kernel.services import PORTCULLIS, is_own
from service.kernel.text import counted
from service.records import role_holdings
from service.reporting.wording import by
from service.web.messages.schema import WHOLE_LIST, Page, page_answer


def add_arguments(parser: ArgumentParser) -> None:
    """Add the request."""
    parser.add_argument("method", metavar="METHOD", type=str.upper, choices=METHODS)
    parser.add_argument(
        "path", metavar="PATH", help="such as /api/user/1, or /api/user/{id} for any other value"
    )
    parser.add_argument("--users", action="store_true", help="print the users who pass, not the roles")
    parser.add_argument("--service", metavar="NAME", default=PORTCULLIS, help="another service")
    add_review(parser)


def run(options: Namespace, environ: Mapping[str, str]) -> None:
    """Print who passes; raises ``ValidationFailed`` for a path that no request may have, ``PolicyError``."""
    query = WhoQuery(
        method=options.method, path=options.path, service=options.service, page=1, size=WHOLE_LIST
    )

    async def ask(review: Review, source: Source) -> tuple[Who | Page[PassingUser], list[str]]:
        place = query.place
        standing = await review.standing(source)
        passing = who(standing, query.method, place, query.service)
        if not options.users:
            answer = who_answer(passing, standing.policy.revision, query)
            return answer, _lines(answer, review.database is not None)
        if review.database is None:
            raise PolicyError("Users are in the database: name one by --data or the settings")
        async with review.database.snapshot(within=READ_WITHIN) as connection:
            held = await role_holdings.read(
                connection
            )  # roles may have been given since the sets were judged
            users = await role_holdings.holders(
                connection, passing.role_sets, held.users, page=1, size=WHOLE_LIST
            )
        page = page_answer(query, users, PassingUser)
        return page, _users(page) if _is_served(passing.asked) else [_UNSERVED]

    answer, lines = review_one(options, environ, ask)
    show(options, answer, lambda: lines)


_UNSERVED: Final = "No route serves it: nobody passes."


def _is_served(asked: Explanation) -> bool:
    return asked.external or asked.endpoint is not None


def _lines(answer: Who, roles_known: bool) -> list[str]:
    layers = [("resource", answer.resource), ("endpoint", answer.endpoint)]
    lines = [f"{answer.method} {answer.path}"]
    lines += [f"  {name}: {line}" for name, layer in layers if layer for line in layer.lines or ["no line"]]
    if answer.endpoint is None and is_own(answer.resource.object):
        return [*lines, _UNSERVED]
    if stronger := beyond_login(answer.assurance):
        lines.append(f"  authenticated by one of: {', '.join(stronger)}")
    rows = [("ROLE", "USERS", "RESOURCE", "ENDPOINT")]
    rows += [
        (role.role_code, str(role.users), by(role.resource), by(role.endpoint) if answer.endpoint else "-")
        for role in answer.items
    ]
    if answer.items:
        lines += aligned(rows)
    lines += [
        f"{' + '.join(group.roles)} together: {counted(group.users, 'user')}" for group in answer.together
    ]
    if answer.visitors:
        lines.append("Everybody passes, logged in or not.")
    elif answer.any_login:
        lines.append("Everybody passes who is logged in.")
    lines += [f"Another resource decides {name}" for name in answer.others]
    passing = f"{counted(answer.total, 'role')}, {counted(answer.users, 'user')}."
    return [*lines, passing if roles_known else "Roles are unknown without a database."]


def _users(page: Page[PassingUser]) -> list[str]:
    rows = [("ID", "NAME", "ROLES")]
    rows += [(str(user.id), user.user_name, ", ".join(user.roles) or "-") for user in page.items]
    return [*aligned(rows), f"{counted(page.total, 'user')}."]
