"""``portcullis policy explain`` and ``refusal``: explain the decision of a request or a refusal."""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping
from io import BytesIO
from pathlib import Path
from typing import Final

import msgspec

from service import settings as table
from service.authz.engine.policy import Policy, decided_by
from service.authz.engine.rules import (
    GRANT,
    LAYERS,
    METHODS,
    OF_CODES,
    PERMISSION,
    LayerName,
    PolicyFileError,
)
from service.cli.lazy_commands import Parts, add_usual
from service.cli.output import show
from service.errors import ValidationFailed
from service.features.decision_log.decision_event import Event, denial_in, latest_denial
from service.features.explain import explained
from service.features.explain.question import (
    DecisionId,
    Question,
    asked,
    revision_of,
    supposed,
    with_scopes,
)
from service.features.explain.reviewing import Review, add_review, opened_log, review, review_one, unserved
from service.features.explain.sentences import sentence
from service.kernel.assurance import WORDS
from service.kernel.services import PORTCULLIS, is_own
from service.laboratory.analysis.sources import READ_WITHIN, Source, Subject, holder_of, subject_of
from service.records.published.policy_history import Place

_OBJECTS: Final[Mapping[str, LayerName]] = {layer.upper(): layer for layer in LAYERS}


def _add_explain(parser: ArgumentParser) -> None:
    parser.add_argument("user", metavar="USER", nargs="?", help="a user, by name; or one of the options")
    subject = parser.add_mutually_exclusive_group()
    subject.add_argument("--role", metavar="CODE", help="a role")
    subject.add_argument("--codes", metavar="CODES", help="permission codes, separated by commas")
    parser.add_argument("--scopes", metavar="CODES", help="the scopes of an API key of the user or holder")
    subject.add_argument("--visitor", action="store_true", help="a visitor who is not logged in")
    parser.add_argument(
        "method",
        metavar="METHOD",
        type=str.upper,
        choices=(*METHODS, *_OBJECTS),
        help=f"the method; or a layer, to ask about one of its objects: {', '.join(_OBJECTS)}",
    )
    parser.add_argument("path", metavar="PATH", help="the path; after a layer, the object, such as a code")
    parser.add_argument("--service", metavar="NAME", default=PORTCULLIS, help="another service")
    parser.add_argument(
        "--assurance",
        metavar="WORD",
        choices=WORDS,
        help="the assumed authentication of the subject, such as @two-factors; @login by default",
    )
    add_review(parser)


def _explain(options: Namespace, environ: Mapping[str, str]) -> None:
    """Print the explanation; raises ``ValidationFailed`` for an unknown subject, and ``PolicyError``."""
    codes = None if options.codes is None else [code for code in options.codes.split(",") if code]
    if sum((options.user is not None, options.role is not None, codes is not None, options.visitor)) != 1:
        raise PolicyFileError("Name one: a user, --role, --codes or --visitor")
    scopes = None if options.scopes is None else [code for code in options.scopes.split(",") if code]
    layer = _OBJECTS.get(options.method)
    question = Question(
        method=options.method if layer is None else None,
        path=options.path if layer is None else None,
        service=options.service,
        grant=options.path if layer == GRANT else None,
        permission=options.path if layer == PERMISSION else None,
        layer=None if layer in OF_CODES else layer,
        object=None if layer is None or layer in OF_CODES else options.path,
        user_name=options.user,
        role_code=options.role,
        permissions=codes,
        scopes=scopes,
        assurance=options.assurance,
    )

    async def ask(review: Review, source: Source) -> explained.Explained:
        place, explains = asked(question)
        policy = await review.policy(source)
        if review.database is None:
            asking = with_scopes(question, _stranger(question))
            explanation = explains(policy, asking.held, supposed(question, asking))
            return await explained.explained_answer(None, policy, asking, explanation, place)
        async with review.database.snapshot(within=READ_WITHIN) as connection:
            named = (question.user_name, question.permissions, question.role_code)
            instant = await review.instant(connection)
            asking = with_scopes(question, await subject_of(connection, *named, instant))
            explanation = explains(policy, asking.held, supposed(question, asking))
            return await explained.explained_answer(
                connection, policy, asking, explanation, place, instant=instant
            )

    answer, source = review_one(options, environ, ask)
    show(options, answer, lambda: lines_of(answer), source=source)


def _stranger(question: Question) -> Subject:
    if question.user_name is not None or question.role_code is not None:
        raise PolicyFileError("Roles and users are in the database: name one by --data or the settings")
    return Subject(None) if question.permissions is None else holder_of(question.permissions)


def lines_of(answer: explained.Explained) -> Iterator[str]:
    """Yield the explanation as text, line by line."""
    outcome = "allowed" if answer.allowed else "denied"
    yield f"{outcome} at revision {answer.revision}" + (f": {answer.path}" if answer.path else "")
    if answer.kept_out:
        yield (
            "The user is disabled or banned, so the service refuses all requests regardless of the policy."
        )
    if answer.public:
        yield "The route is open to everyone, without authentication."
    elif answer.permissions is not None:
        yield f"Held codes: {', '.join(answer.permissions) or 'none'}"
    for layer in explained.layers_of(answer):
        yield from _layer(layer)
    if (demands := answer.assurance) is not None:
        yield f"Satisfied: {', '.join(demands.satisfied)}"
        for demand in filter(None, (demands.resource, demands.endpoint)):
            yield from _layer(demand)
    external = answer.resource is not None and not is_own(answer.resource.object)
    if answer.path is not None and answer.endpoint is None and not external:
        yield "No route of this service serves it (404 or 405)."
        yield from unserved(answer.registered_by)[1:]


def _layer(layer: explained.Layer) -> Iterator[str]:
    yield f"{layer.layer} {layer.object}: {layer.reason} ({layer.decision_id})"
    end = "" if layer.until is None else f", until {layer.until}"
    for line in layer.lines:
        opened = f"   opened by {', '.join(layer.rows)}{end}" if line == layer.line else ""
        yield f"  {line}{opened}"
    for part in layer.parts:
        yield f"  {part.by}: {part.reason}{f' by {part.line}' if part.line else ''} ({part.decision_id})"
    for code in layer.fired:
        given = [
            f"role {origin.role_code}, Button {origin.button_id} ({origin.button_title})"
            for origin in code.origins
        ]
        yield f"  {code.code} held" + (f" from {'; '.join(dict.fromkeys(given))}" if given else "")
        yield from (_decided(origin) for origin in code.origins if origin.assignment_id is not None)
    if layer.would_open is not None:
        yield from _opening(layer.would_open)


def _decided(origin: explained.Origin) -> str:
    """Return the assignment behind a role: start, expiry, editor, request, approvers and reason."""
    facts = [
        f"{origin.role_code}, assignment {origin.assignment_id}",
        f"since {origin.since or 'the beginning'}",
    ]
    facts += [f"until {origin.until}"] if origin.until else []
    facts += [f"assigned by {origin.created_by}"] if origin.created_by else []
    if origin.access_request_id is not None:
        facts.append(f"request {origin.access_request_id}")
    facts += [f"approved by {' and '.join(origin.approved_by)}"] if origin.approved_by else []
    facts += [f"reason: {origin.reason}"] if origin.reason else []
    return f"    {', '.join(facts)}"


def _opening(opens: explained.Opening) -> Iterator[str]:
    buttons = [f"{button.auth_mark} ({button.id}, {button.title})" for button in opens.buttons]
    for what, names in (
        ("one of the codes", opens.permissions),
        ("one of the roles", opens.roles),
        ("one of the Buttons", buttons),
        ("enabling a bound Button", opens.disabled_buttons),
    ):
        if names:
            yield f"  would be allowed by {what}: {', '.join(names)}"


def _add_refusal(parser: ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="the id of a decision, such as r12-9be1a6f0-5f0c39d1a2b4")
    parser.add_argument(
        "--log",
        metavar="LOG",
        help="a decision log, or - for standard input; by default that of the settings",
    )
    add_usual(parser)


def _refusal(options: Namespace, environ: Mapping[str, str]) -> None:
    """Print the refusal and its explanation.

    Raises ``ValidationFailed`` for an invalid id, ``NotFound`` if no log has it, ``Conflict`` if the decision
    is of another static policy, and ``PolicyError``.
    """
    try:
        decision_id = msgspec.convert(options.id, DecisionId)
    except msgspec.ValidationError:
        raise ValidationFailed(("ID", sentence("not_a_decision_id"))) from None
    event = _event(options.log, environ, decision_id)
    revision, passed = decided_by(decision_id)

    async def ask(policies: Review, sources: tuple[Source, ...]) -> explained.Explained:
        revision_of(decision_id, policies.past.shipped.digest)
        policy = (await policies.policy(sources[0])).after(passed)

        async def at(_place: Place | None) -> Policy:
            return policy

        assert policies.database is not None  # noqa: S101 - a revision is read from it
        async with policies.database.snapshot(within=READ_WITHIN) as connection:
            return await explained.refusal_answer(connection, decision_id, event, policy, at)

    answer, source = review(options, environ, (str(revision),), ask)
    show(options, answer, lambda: _told_of_refusal(answer), source=source)


def _event(log: str | None, environ: Mapping[str, str], decision_id: str) -> Event | None:
    if log is None:
        named = table.load(environ).policy.decision_log
        return denial_in(named, decision_id) if isinstance(named, Path) else None
    with opened_log(log) as lines:
        return latest_denial(lines if lines.seekable() else BytesIO(lines.read()), decision_id)


def _told_of_refusal(answer: explained.Explained) -> Iterator[str]:
    if (refusal := answer.refusal) is not None:
        who = refusal.user_name or (
            f"user {refusal.user_id}" if refusal.user_id else "a visitor who was not logged in"
        )
        what = (
            f"{refusal.method} {refusal.path}"
            if refusal.method
            else "a decision requested by another service"
        )
        what += "" if refusal.service == PORTCULLIS else f" of {refusal.service}"
        yield f"{refusal.create_time}: {what}, by {who}; request {refusal.request_id} ({refusal.log})"
    if not answer.decision_matches:
        yield "The user had other codes then. This answer uses the current codes."
    yield from lines_of(answer)


COMMANDS: Final[Parts] = {"explain": (_add_explain, _explain), "refusal": (_add_refusal, _refusal)}
