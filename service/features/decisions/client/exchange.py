"""Questions as requests, and answers as decisions (OpenID AuthZEN Authorization API 1.0), without any I/O."""

import json
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from .entities import NOT_ASKED, UNAVAILABLE, Decision, Question, StepUp

MOST_AT_ONCE: Final = 1000
"""The most questions of one request."""
_MOST_KEPT: Final = 10_000  # decisions
_OK: Final = 200
_ACR: Final = re.compile(r"[A-Za-z0-9._:/-]+")  # of a challenge, whose values are quoted

Semantic: TypeAlias = Literal["execute_all", "deny_on_first_deny", "permit_on_first_permit"]
"""Semantics of several questions: answer all, or stop at the first deciding answer."""

_ENDS_WITH: Final[dict[Semantic, bool | None]] = {
    "execute_all": None,
    "deny_on_first_deny": False,
    "permit_on_first_permit": True,
}


class Kept:
    """Decisions that were asked about less than ``seconds`` ago; none with 0."""

    def __init__(self, seconds: float, now: Callable[[], float] = time.monotonic) -> None:
        if not 0 <= seconds < float("inf"):
            raise ValueError("The time to keep decisions must be a number of seconds, or 0")
        self.now = now
        self._seconds = seconds
        self._decisions: dict[Question, tuple[float, Decision]] = {}

    def get(self, question: Question) -> Decision | None:
        """Return the decision about ``question``, None if it has to be asked."""
        asked_at, decision = self._decisions.get(question, (None, None))
        return None if asked_at is None or self.now() - asked_at >= self._seconds else decision

    def put(self, question: Question, decision: Decision, asked_at: float) -> None:
        """Keep what Portcullis has answered."""
        if not self._seconds or decision.reason in (UNAVAILABLE, NOT_ASKED):
            return
        if len(self._decisions) >= _MOST_KEPT:
            self._decisions.clear()
        self._decisions[question] = (asked_at, decision)


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply: the status, the media type, and the body."""

    status: int
    media_type: str
    body: bytes


class Exchange:
    """The questions that have to be asked, and the decisions about all."""

    def __init__(
        self, questions: Sequence[Question], semantic: Semantic, service: str | None, kept: Kept
    ) -> None:
        """Raises ValueError for more than ``MOST_AT_ONCE`` questions or an unknown ``semantic``."""
        if len(questions) > MOST_AT_ONCE:
            raise ValueError(f"A request can have at most {MOST_AT_ONCE} questions")
        if semantic not in _ENDS_WITH:
            raise ValueError("The semantic is unknown")
        self._all = questions
        self._semantic = semantic
        self._service = service
        self._kept = kept
        self._asked_at = kept.now()
        self._known = self._remembered()
        # If one answer can end the exchange, the questions before it count, and each keeps its place.
        self.asked = (
            [question for question in dict.fromkeys(questions) if question not in self._known]
            if semantic == "execute_all"
            else list(questions)
        )

    def _remembered(self) -> dict[Question, Decision]:
        pairs = ((question, self._kept.get(question)) for question in self._all)
        return {question: decision for question, decision in pairs if decision is not None}

    @property
    def request(self) -> tuple[str, bytes]:
        """The path and the JSON body of the request; there is at least one question in ``asked``."""
        wire = [self._wire(question) for question in self.asked]
        if len(wire) == 1:
            return "/access/v1/evaluation", json.dumps(wire[0]).encode()
        body = {"evaluations": wire, "options": {"evaluations_semantic": self._semantic}}
        return "/access/v1/evaluations", json.dumps(body).encode()

    def _wire(self, question: Question) -> dict[str, Any]:
        subject, resource = question.subject, question.resource
        members: dict[str, Any] = {"type": resource.type, "id": resource.id}
        service = resource.service or self._service
        if resource.type == "route" and service is not None:
            members["properties"] = {"service": service}
        return {
            "subject": {"type": subject.type, "id": subject.id},
            "action": {"name": question.action},
            "resource": members,
        }

    def decisions(self, reply: Reply | None) -> list[Decision]:
        """Return a decision for each question, in order; ``reply`` is None if none came.

        Anything but a clean 200 denies all that were asked. Questions behind the one that decides are denied.
        """
        if self.asked:
            answered = None if reply is None else self._read(reply)
            if answered is None:
                answered = [Decision(False, UNAVAILABLE)] * len(self.asked)
            for question, decision in zip(self.asked, answered, strict=True):
                self._kept.put(question, decision, self._asked_at)
            if self._semantic != "execute_all":
                return answered
            self._known.update(zip(self.asked, answered, strict=True))
        return [self._known[asked] for asked in self._all]

    def _read(self, reply: Reply) -> list[Decision] | None:
        if reply.status != _OK or reply.media_type.partition(";")[0].strip() != "application/json":
            return None
        try:
            body = json.loads(reply.body)
        except (ValueError, RecursionError):
            return None
        evaluations = [body] if len(self.asked) == 1 else _member(body, "evaluations")
        if not isinstance(evaluations, list) or not 0 < len(evaluations) <= len(self.asked):
            return None
        decisions = [decision for decision in map(_decision, evaluations) if decision is not None]
        if len(decisions) != len(evaluations):
            return None
        missing = len(self.asked) - len(evaluations)
        if missing and decisions[-1].allowed is not _ENDS_WITH[self._semantic]:
            return None
        return decisions + [Decision(False, NOT_ASKED)] * missing


def _decision(evaluation: object) -> Decision | None:
    allowed = _member(evaluation, "decision")
    if not isinstance(allowed, bool):
        return None
    context = _member(evaluation, "context")
    revision, required = _member(context, "revision"), _member(context, "required")
    subject = _member(context, "subject")
    return Decision(
        allowed,
        _text(_member(context, "reason")),
        _text(_member(context, "decisionId")),
        revision if isinstance(revision, int) else None,
        tuple(map(_text, required)) if isinstance(required, list) else (),
        subject if isinstance(subject, dict) else None,
        None if allowed else _step_up(_member(context, "obligations")),
    )


def _step_up(obligations: object) -> StepUp | None:
    for obligation in obligations if isinstance(obligations, list) else []:
        if _member(obligation, "id") == "step_up":
            values, max_age = _member(obligation, "acrValues"), _member(obligation, "maxAge")
            acr_values = tuple(filter(_ACR.fullmatch, map(_text, values))) if isinstance(values, list) else ()
            return StepUp(acr_values, max_age if type(max_age) is int else None)
    return None


def _member(value: object, name: str) -> object:
    return value.get(name) if isinstance(value, dict) else None


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
