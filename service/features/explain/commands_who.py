"""``portcullis policy who``, ``what``, ``openings`` and ``matrix``: access to requests."""

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from service.authz.engine.rules import ASSURANCE, LAYERS, METHODS, PolicyFileError
from service.cli.lazy_commands import Parts
from service.cli.output import aligned, say, show, source_line
from service.features.explain import api_who_may
from service.features.explain.api_matrix import MatrixQuery, matrix_answer
from service.features.explain.matrix import Matrix, as_csv, as_document
from service.features.explain.reviewing import Review, add_review, review_one, unserved
from service.features.explain.wording import by
from service.kernel.services import PORTCULLIS, is_own
from service.kernel.text import counted
from service.laboratory.analysis.demands import beyond_login, demanded
from service.laboratory.analysis.explain import Explanation, ObjectExplanation
from service.laboratory.analysis.impact import Standing
from service.laboratory.analysis.sources import READ_WITHIN, Source, holder_of
from service.laboratory.reporting.html_page import as_html
from service.records import role_holdings
from service.web.messages.schema import WHOLE_LIST, Page, PageQuery, page_answer

_LAYERS: Final = {layer.upper(): layer for layer in LAYERS if layer != ASSURANCE}


def _add_who(parser: ArgumentParser) -> None:
    parser.add_argument(
        "method",
        metavar="METHOD",
        type=str.upper,
        choices=(*METHODS, *_LAYERS),
        help=f"the method; or a layer, to ask about one of its objects: {', '.join(_LAYERS)}",
    )
    parser.add_argument(
        "path",
        metavar="PATH",
        help="such as /api/user/1, or /api/user/{id} for any other value; after a layer, the object",
    )
    parser.add_argument("--users", action="store_true", help="print users instead of roles")
    parser.add_argument("--service", metavar="NAME", default=PORTCULLIS, help="another service")
    add_review(parser)


def _who(options: Namespace, environ: Mapping[str, str]) -> None:
    """Print access to a request; raises ``ValidationFailed`` for an invalid path, and ``PolicyError``."""
    layer = _LAYERS.get(options.method)
    asked = {"layer": layer, "object": options.path} if layer else vars(options)
    named = {name: asked[name] for name in ("layer", "object", "method", "path", "service") if name in asked}
    query = api_who_may.WhoQuery(**named, page=1, size=WHOLE_LIST)

    async def ask(
        review: Review, source: Source
    ) -> tuple[api_who_may.Who | Page[api_who_may.PassingUser], list[str]]:
        ask = query.ask
        standing = await review.standing(source, query.kind)
        passing = ask(standing)
        if not options.users:
            answer = api_who_may.who_answer(passing, standing.policy.revision, query)
            return answer, _lines_of_who(answer, review.database is not None)
        if review.database is None:
            raise PolicyFileError("Users are in the database: name one by --data or the settings")
        async with review.database.snapshot(within=READ_WITHIN) as connection:
            instant = await review.instant(connection)
            at, then = instant.at, instant.then
            # Read again: roles may have been assigned since the sets were decided.
            held = await role_holdings.read(connection, at, then)
            users = await role_holdings.holders(
                connection,
                passing.role_sets,
                held.users,
                page=1,
                size=WHOLE_LIST,
                kind=query.kind,
                at=at,
                then=then,
            )
        page = page_answer(query, users, api_who_may.PassingUser)
        return page, _users(page) if _is_served(passing.asked) else unserved(passing.registered_by)

    (answer, lines), source = review_one(options, environ, ask)
    show(options, answer, lambda: lines, source=source)


def _is_served(asked: Explanation | ObjectExplanation) -> bool:
    return isinstance(asked, ObjectExplanation) or asked.external or asked.endpoint is not None


def _lines_of_who(answer: api_who_may.Who, roles_known: bool) -> list[str]:
    layers = [("resource", answer.resource), ("endpoint", answer.endpoint), ("asked", answer.asked)]
    lines = [f"{answer.method} {answer.path}" if answer.asked is None else answer.asked.object]
    lines += [f"  {name}: {line}" for name, layer in layers if layer for line in layer.lines or ["no line"]]
    if answer.endpoint is None and answer.resource and is_own(answer.resource.object):
        return [*lines, *unserved(answer.registered_by)]
    if stronger := beyond_login(answer.assurance):
        lines.append(f"  authenticated by one of: {', '.join(stronger)}")
    rows = [("ROLE", "USERS", "RESOURCE", "ENDPOINT") if answer.asked is None else ("ROLE", "USERS", "BY")]
    rows += [
        (role.role_code, str(role.users), by(role.resource), by(role.endpoint) if answer.endpoint else "-")
        if role.asked is None
        else (role.role_code, str(role.users), by(role.asked))
        for role in answer.items
    ]
    if answer.items:
        lines += aligned(rows)
    lines += [
        f"{' + '.join(group.roles)} together: {counted(group.users, 'user')}" for group in answer.together
    ]
    if answer.visitors:
        lines.append("Everyone is allowed, logged in or not.")
    elif answer.any_login:
        lines.append("Everyone who is logged in is allowed.")
    lines += [f"Another resource decides {name}" for name in answer.others]
    passing = f"{counted(answer.total, 'role')}, {counted(answer.users, 'user')}."
    return [*lines, passing if roles_known else "Roles are unknown without a database."]


def _users(page: Page[api_who_may.PassingUser]) -> list[str]:
    rows = [("ID", "NAME", "ROLES")]
    rows += [(str(user.id), user.user_name, ", ".join(user.roles) or "-") for user in page.items]
    return [*aligned(rows), f"{counted(page.total, 'user')}."]


def _add_what(parser: ArgumentParser) -> None:
    subject = parser.add_mutually_exclusive_group(required=True)
    subject.add_argument("--role", metavar="CODE", help="a role")
    subject.add_argument("--user", metavar="NAME", help="a user, by name")
    subject.add_argument(
        "--codes",
        metavar="CODES",
        help="permission codes, separated by commas; empty for a login without any",
    )
    add_review(parser)


def _what(options: Namespace, environ: Mapping[str, str]) -> None:
    """Print what the subject passes; raises ``ValidationFailed`` if it is unknown, and ``PolicyError``."""
    query = api_who_may.WhatQuery(
        role_code=options.role, user_name=options.user, codes=options.codes, page=1, size=WHOLE_LIST
    )

    async def ask(review: Review, source: Source) -> api_who_may.What:
        policy = await review.policy(source)
        if review.database is None:
            if query.codes is None:
                raise PolicyFileError(
                    "Roles and users are in the database: name one by --data or the settings"
                )
            return api_who_may.what_answer(policy, holder_of(query.held_codes or []), query)
        async with review.database.snapshot(within=READ_WITHIN) as connection:
            asking = await query.subject(connection, await review.instant(connection))
        return api_who_may.what_answer(policy, asking, query)

    answer, source = review_one(options, environ, ask)
    show(options, answer, lambda: _lines_of_what(answer), source=source)


def _lines_of_what(answer: api_who_may.What) -> list[str]:
    lines = [f"Held codes: {', '.join(answer.permissions) or 'none'}"]
    if answer.kept_out:
        return [*lines, "The user is disabled or banned, so the service refuses all requests."]
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


def _request(passed: api_who_may.Passed) -> tuple[str, ...]:
    stronger = " ".join(beyond_login(passed.assurance or ()))
    return passed.object, by(passed.resource), by(passed.endpoint), stronger


def _openings(options: Namespace, environ: Mapping[str, str]) -> None:
    """Print the requests; raises ``PolicyError``."""

    async def ask(review: Review, source: Source) -> Page[api_who_may.OpenRequest]:
        return api_who_may.openings_answer(await review.policy(source), PageQuery(page=1, size=WHOLE_LIST))

    answer, source = review_one(options, environ, ask)
    show(options, answer, lambda: _lines_of_openings(answer), source=source)


def _lines_of_openings(answer: Page[api_who_may.OpenRequest]) -> list[str]:
    rows = [
        (
            request.object,
            request.needs,
            " ".join(demanded(request.assurance)),
            by(request.resource),
            by(request.endpoint),
        )
        for request in answer.items
    ]
    head = ("REQUEST", "NEEDS", "AUTHENTICATION", "RESOURCE", "ENDPOINT")
    return [*aligned([head, *rows]), f"{counted(answer.total, 'request')}."]


def _add_matrix(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--output", metavar="FILE", type=Path, help="write FILE: HTML if it ends in .html, else CSV"
    )
    add_review(parser)


def _matrix(options: Namespace, environ: Mapping[str, str]) -> None:
    """Print CSV, or write the file; raises ``PolicyError`` and OSError."""

    async def read(review: Review, source: Source) -> Standing:
        return await review.standing(source)

    standing, source = review_one(options, environ, read)
    if options.json and options.output is None:
        answer = matrix_answer(standing, MatrixQuery(page=1, size=WHOLE_LIST))
        show(options, answer, list, source=source)
        return
    matrix = Matrix(standing)
    if options.output is None:
        for line in as_csv(matrix, source):
            say(line.rstrip())
        return
    is_page = options.output.suffix == ".html"
    parts = as_html(as_document(matrix, source)) if is_page else as_csv(matrix, source)
    with options.output.open("wb") as file:
        file.writelines(part.encode() for part in parts)
    roles, requests = counted(len(matrix.roles), "role"), counted(len(matrix.requests), "request")
    say(source_line(source), f"{roles} and {requests} in {options.output}.")


COMMANDS: Final[Parts] = {
    "who": (_add_who, _who),
    "what": (_add_what, _what),
    "openings": (add_review, _openings),
    "matrix": (_add_matrix, _matrix),
}
