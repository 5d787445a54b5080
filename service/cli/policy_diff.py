"""``portcullis policy diff`` and ``what-if``: two policies compared, and other codes or roles."""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, get_args

from msgspec import field

from service.authz.engine.rules import PolicyError
from service.authz.review.impact import line_diff
from service.authz.review.sources import NAMES, READ_WITHIN, Source
from service.cli.lazy_commands import Parts, add_usual
from service.cli.output import show
from service.cli.policy_reviewing import Review, add_review, review, review_one
from service.endpoints.policy_layers import Access, access_answer
from service.endpoints.policy_what_if import WhatIfAnswer, WhatIfQuery, what_if_answer
from service.kernel.assurance import Demand
from service.kernel.text import counted
from service.laboratory.reporting.wording import caller_text
from service.web.messages.access_change import AccessChange
from service.web.messages.schema import Schema


class SourcesDiff(Schema):
    """What ``to`` has and ``from`` has not, and the reverse, and what it means."""

    from_: str = field(name="from")
    to: str
    model_changed: bool
    added_lines: list[str]
    removed_lines: list[str]
    access: Access


def _add_diff(parser: ArgumentParser) -> None:
    parser.add_argument("before", metavar="A", help=NAMES)
    parser.add_argument("after", metavar="B", help="the same")
    add_usual(parser)


def _diff(options: Namespace, environ: Mapping[str, str]) -> None:
    """Print the differences; raises ``PolicyError``."""

    async def compare(policies: Review, sources: tuple[Source, ...]) -> tuple[SourcesDiff, bool]:
        before, after = await policies.policy(sources[0]), await policies.standing(sources[1])
        lines = line_diff(before, after.policy)
        answer = SourcesDiff(
            from_=options.before,
            to=options.after,
            model_changed=lines.model_changed,
            added_lines=list(lines.added),
            removed_lines=list(lines.removed),
            access=access_answer(before, after),
        )
        return answer, policies.database is not None

    (answer, roles), source = review(options, environ, (options.before, options.after), compare)
    show(options, answer, lambda: _lines_of_diff(answer, roles=roles), source=source)


def _lines_of_diff(answer: SourcesDiff, *, roles: bool) -> Iterator[str]:
    if answer.model_changed:
        yield "The models differ."
    yield from (f"- {line}" for line in answer.removed_lines)
    yield from (f"+ {line}" for line in answer.added_lines)
    less, more = counted(len(answer.removed_lines), "line"), counted(len(answer.added_lines), "line")
    yield f"{less} removed, {more} added."
    access = answer.access
    if roles:
        yield from gains_and_losses(access.gains, access.loses)
    else:
        yield "Roles are unknown without a database."
    for request in access.callers:
        name = request.name if request.layer is None else f"{request.layer} {request.name}"
        if request.gains is None and request.loses is None:
            yield f"! {name}"
        for caller, sign in ((request.loses, "-"), (request.gains, "+")):
            if caller is not None:
                yield f"{sign} {caller_text(caller)}  {name}"
    if not access.callers:
        yield "No possible caller notices a difference."


def _add_what_if(parser: ArgumentParser) -> None:
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


def _what_if(options: Namespace, environ: Mapping[str, str]) -> None:
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

    answer, source = review_one(options, environ, ask)
    show(options, answer, lambda: _lines_of_what_if(answer), source=source)


def _lines_of_what_if(answer: WhatIfAnswer) -> Iterator[str]:
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


COMMANDS: Final[Parts] = {"diff": (_add_diff, _diff), "what-if": (_add_what_if, _what_if)}
