"""``portcullis policy diff``: two policies compared."""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping

from msgspec import field

from service.cli.lazy_commands import add_usual
from service.cli.output import show
from service.features.explain.policy_layers import Access, access_answer
from service.features.explain.reviewing import Review, gains_and_losses, review
from service.features.explain.wording import caller_text
from service.kernel.text import counted
from service.laboratory.analysis.impact import line_diff
from service.laboratory.analysis.sources import NAMES, Source
from service.web.messages.schema import Schema


class SourcesDiff(Schema):
    """What ``to`` has and ``from`` has not, and the reverse, and what it means."""

    from_: str = field(name="from")
    to: str
    model_changed: bool
    added_lines: list[str]
    removed_lines: list[str]
    access: Access


def add_arguments(parser: ArgumentParser) -> None:
    """Add the two policies."""
    parser.add_argument("before", metavar="A", help=NAMES)
    parser.add_argument("after", metavar="B", help="the same")
    add_usual(parser)


def run(options: Namespace, environ: Mapping[str, str]) -> None:
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
