"""``portcullis policy refusal ID``: what a refusal was about, and why, by the id of its decision."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping
from io import BytesIO
from pathlib import Path

import msgspec

from service import settings as table
from service.audit.decision_event import Event, denial_in, latest_denial
from service.authz.engine.policy import Policy
from service.authz.review.sources import READ_WITHIN, Source
from service.cli.lazy_commands import add_data, add_json
from service.cli.output import show
from service.cli.policy_explain import lines_of
from service.cli.policy_reviewing import Review, opened_log, review
from service.endpoints.policy_explain import DecisionId, revision_of
from service.endpoints.policy_explained import Explained, refusal_answer
from service.errors import ValidationFailed
from service.kernel.services import PORTCULLIS
from service.records.policy_history import Place


def add_arguments(parser: ArgumentParser) -> None:
    """Add the id, and where it is looked for."""
    parser.add_argument("id", metavar="ID", help="the id of a decision, such as r12-9be1a6f0-5f0c39d1a2b4")
    parser.add_argument(
        "--log",
        metavar="LOG",
        help="a decision log, or - for standard input; by default that of the settings",
    )
    add_data(parser)
    add_json(parser)


def run(options: Namespace, environ: Mapping[str, str]) -> None:
    """Print the refusal and its explanation.

    Raises ``ValidationFailed`` for what is no id, ``NotFound`` if no log has it, ``Conflict`` if another own
    part has decided, and ``PolicyError``.
    """
    try:
        decision_id = msgspec.convert(options.id, DecisionId)
    except msgspec.ValidationError:
        raise ValidationFailed(("ID", "is no id of a decision")) from None
    event = _event(options.log, environ, decision_id)
    revision = decision_id.removeprefix("r").partition("-")[0]

    async def ask(policies: Review, sources: tuple[Source, ...]) -> Explained:
        revision_of(decision_id, policies.past.shipped.digest)
        policy = await policies.policy(sources[0])

        async def at(_place: Place | None) -> Policy:
            return policy

        assert policies.database is not None  # noqa: S101 - a revision is read from it
        async with policies.database.snapshot(within=READ_WITHIN) as connection:
            return await refusal_answer(connection, decision_id, event, policy, at)

    answer = review(options, environ, (revision,), ask)
    show(options, answer, lambda: _told(answer))


def _event(log: str | None, environ: Mapping[str, str], decision_id: str) -> Event | None:
    if log is None:
        named = table.load(environ).policy.decision_log
        return denial_in(named, decision_id) if isinstance(named, Path) else None
    with opened_log(log) as lines:
        return latest_denial(lines if lines.seekable() else BytesIO(lines.read()), decision_id)


def _told(answer: Explained) -> Iterator[str]:
    if (refusal := answer.refusal) is not None:
        who = refusal.user_name or (
            f"user {refusal.user_id}" if refusal.user_id else "nobody who was logged in"
        )
        what = f"{refusal.method} {refusal.path}" if refusal.method else "a question of another service"
        what += "" if refusal.service == PORTCULLIS else f" of {refusal.service}"
        yield f"{refusal.create_time}: {what}, by {who}; request {refusal.request_id} ({refusal.log})"
    if not answer.decision_matches:
        yield "The user held other codes then: this is the answer for those of now."
    yield from lines_of(answer)
