"""The process beside a service: AuthZEN evaluation and forward authentication on a local socket.

It serves a Unix socket or a loopback address, which only the machine can reach, and authenticates no caller.
The headers of every answer have the revision, the rights and the age of its data.
"""

import asyncio
import signal
import sys
from collections.abc import Awaitable, Callable, Iterable, Iterator, MutableMapping, Sequence
from contextlib import contextmanager
from functools import partial
from hashlib import blake2b
from sys import getsizeof
from time import perf_counter
from typing import Any, Final, Literal, NamedTuple, Protocol, TypeAlias

import msgspec
import structlog
import uvicorn
from msgspec import UNSET, Struct
from msgspec.structs import replace

from service import errors
from service.authz.engine.policy import Policy
from service.authz.engine.rules import ACCOUNT, PERMISSION, RESOURCE
from service.features.decision_log.event_lines import Line, OfAnswer, line_of, of_codes, of_request
from service.features.decisions.events import answer_parts, subject_part
from service.features.decisions.messages import (
    ENDS_WITH,
    Evaluation,
    Evaluations,
    Question,
    decision_of,
    question_in,
)
from service.features.decisions.questions import INCOMPLETE, Asked, Subject
from service.features.decisions.sentences import sentence as question_sentence
from service.features.follower.families import OF_FOLLOWERS
from service.features.follower.following import Follower
from service.features.follower.headers import SentHeaders, at_least
from service.features.follower.listening import listening
from service.features.follower.point import STALE, DecisionPoint, Evaluated
from service.features.follower.proxied import FORWARD, Proxied, Reply, Scope
from service.features.follower.sentences import sentence
from service.kernel.account_acts import where
from service.kernel.clock import TextClock
from service.kernel.codes import account_codes, ceilings_of
from service.kernel.identity import Caller, codes_asked, words_asked
from service.kernel.metrics import Durations, Sample
from service.laboratory.analysis.answers import is_short
from service.web.messages.bodies import ProtocolBody
from service.web.messages.request import REQUEST_OPTIONS, Request
from service.web.messages.request_ids import request_ids
from service.web.observability.exposition import MEDIA_TYPE as METRICS
from service.web.observability.exposition import exposition

Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]

_EVALUATION: Final = "/access/v1/evaluation"
_EVALUATIONS: Final = "/access/v1/evaluations"
_ALONE: Final = b"!"  # prefix of a whole body; the key of one question among several begins with a brace
_MOST_BODY: Final = 4 * 1024 * 1024
_MOST_KNOWN: Final = 64 * 1024 * 1024  # maximum bytes of cached answers
_OF_ONE: Final = 500  # bytes of one, without its text and the texts of its question
_LONGEST_PLACE: Final = 256  # maximum bytes of a question used as key; a longer one is hashed
_TURN: Final = 0.0005
"""Seconds for which the decision log's thread computes before questions continue, and the reverse."""
_PROBLEM: Final = b"application/problem+json"
_TELLS_CODES: Final = "system:policy:read"

_log = structlog.get_logger(__name__)
_encode: Final = msgspec.json.Encoder().encode
_ENDS_WITH: Final = {
    semantic: () if ends_with is None else ("allow",) if ends_with else ("deny", "stale")
    for semantic, ends_with in ENDS_WITH.items()
}
"""The outcomes after which the list of answers stops."""


class EventLog(Protocol):
    """The decision log, which is imported only if it is used."""

    def keeps(self, *, allowed: bool) -> bool:
        """Return true if an event of this outcome is kept."""

    def put_lines(self, lines: Sequence[Line]) -> None:
        """Accept encoded events, without waiting."""

    def samples(self) -> Iterable[Sample]:
        """Return the samples of its counters."""


class _OfKnown(NamedTuple):
    """The parts of a decision log line that are valid as long as the answer."""

    answer: OfAnswer
    subject: bytes
    codes: bytes


class _Known(Struct, eq=False):
    """The encoded answer to a question, valid until a time since boot.

    ``asked`` has no subject, because the id may be long and the log does not need it. ``logged`` is its part
    of the decision log, created on first use.
    """

    encoded: bytes
    until: float
    asked: Asked | None
    evaluated: Evaluated
    outcome: Literal["allow", "deny", "stale"]
    logged: _OfKnown | None = None


class PdpApp:
    """The ASGI application of a decision point."""

    def __init__(self, follower: Follower, log: EventLog | None = None) -> None:
        """Create the application; ``log`` receives the events of answers; None for no log."""
        self._follower = follower
        self._point: DecisionPoint = follower.point
        self._log = log
        self._proxied = Proxied(self._point, follower.settings.services)
        self._evaluation = ProtocolBody(Evaluation, _MOST_BODY)
        self._evaluations = ProtocolBody(Evaluations, _MOST_BODY)
        self._known: dict[bytes, _Known] = {}
        self._known_of = -1
        self._size = 0
        self._answered = {"allow": 0, "deny": 0, "stale": 0}
        self._times = Durations()
        self._clock = TextClock(self._point.time.now)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        begun = perf_counter()
        request_id, echoed_id = request_ids(scope["headers"], scope["path"])
        try:
            reply = await self._reply(scope, receive, request_id)
        except errors.Refusal as refusal:
            reply = _refused(refusal, request_id)
        except Exception:  # noqa: BLE001 - the next request is served
            _log.exception("a question could not be answered", request_id=request_id)
            reply = _refused(errors.InternalError(), request_id)
        headers = [
            (b"content-type", reply.media),
            (b"content-length", b"%d" % len(reply.body)),
            (b"cache-control", b"no-store"),
            (b"x-request-id", echoed_id),
            *reply.headers,
            *self._standing(),
        ]
        await send({"type": "http.response.start", "status": reply.status, "headers": headers})
        await send({"type": "http.response.body", "body": reply.body})
        self._times.observe(perf_counter() - begun)

    def _standing(self) -> list[tuple[bytes, bytes]]:
        """Return the headers with the state behind an answer; without a lease they mark it as stale."""
        point = self._point
        age = point.lease.age
        known = b"%d" % min(1000 * age + 1, 10**9) if age < 10**6 else b"unknown"
        headers = [
            (b"portcullis-revision", b"%d" % self._follower.revision),
            (b"portcullis-rights", b"%d" % point.state.rights),
            (b"portcullis-age", known),
        ]
        return [*headers, (b"portcullis-stale", b"true")] if point.is_stale else headers

    async def _reply(self, scope: Scope, receive: Receive, request_id: str) -> Reply:
        path: str = scope["path"]
        sent = SentHeaders(scope["headers"])
        if sent.host is None or not self._follower.settings.answers(sent.host):
            raise errors.BadRequest(sentence("host_refused"))
        if path.startswith(FORWARD):  # its headers are those of a client, which may demand nothing
            return self._proxied.answer(scope, partial(self._note_one, request_id))
        if path == "/metrics":
            return Reply(200, exposition(self.samples(), OF_FOLLOWERS), METRICS.encode())
        if path == "/health/live":
            return Reply(200, b'{"status":"up"}')
        if path == "/health/ready":
            return self._ready()
        if path not in (_EVALUATION, _EVALUATIONS):
            raise errors.NotFound
        if scope["method"] != "POST":
            raise errors.MethodNotAllowed(["POST"])
        if sent.demanded and not await self._point.wait_for(at_least(sent.demanded)):
            raise errors.Unavailable(sentence("demand_not_available"))
        return await self._evaluated(scope, receive, request_id, is_json=sent.is_json)

    async def _evaluated(self, scope: Scope, receive: Receive, request_id: str, *, is_json: bool) -> Reply:
        """Return the answer to one or several questions; ``is_json``: the body is declared as plain JSON."""
        event = None
        if is_json and scope["path"] == _EVALUATION:
            event = await receive()
            known = (
                None if event.get("more_body") else self._remembered(_place(_ALONE + event.get("body", b"")))
            )
            if known is not None:
                self._note([known], request_id)
                if self._point.lease.holds():  # otherwise answer without a lease below
                    return Reply(200, known.encoded)
        request = Request(dict(scope), receive, None, REQUEST_OPTIONS)
        request.arrived = event
        if scope["path"] == _EVALUATIONS:
            evaluations = await self._evaluations.read(request)
            return Reply(200, self._point.lease.answered(partial(self._several, evaluations, request_id)))
        evaluation = await self._evaluation.read(request)
        return Reply(
            200, self._point.lease.answered(partial(self._one, evaluation, request.body, request_id))
        )

    def _one(self, evaluation: Evaluation, body: bytes, request_id: str) -> bytes:
        place = _place(_ALONE + body)
        known = self._remembered(place) or self._find(place, evaluation.asked)
        self._note([known], request_id)
        return known.encoded

    def _several(self, body: Evaluations, request_id: str) -> bytes:
        if not body.evaluations:
            if body.subject is UNSET or body.action is UNSET or body.resource is UNSET:
                raise errors.BadRequest(question_sentence("question_incomplete"))
            known = self._answer_to(Evaluation(body.subject, body.action, body.resource).asked)
            self._note([known], request_id)
            return known.encoded
        ends_with = _ENDS_WITH[body.options.evaluations_semantic]
        defaults = Question(body.subject, body.action, body.resource)
        shared = _encode(defaults)
        remembered, now = self._current(), self._point.clock()
        answers: list[_Known] = []
        for raw in body.evaluations:
            place = _place(shared + bytes(raw))
            each = remembered.get(place)
            if each is None or each.until <= now:
                each = self._find(place, question_in(raw, defaults))
            answers.append(each)
            if each.outcome in ends_with:
                break
        self._note(answers, request_id)
        return b'{"evaluations":[%b]}' % b",".join([each.encoded for each in answers])

    def _remembered(self, place: bytes) -> _Known | None:
        known = self._current().get(place)
        return None if known is None or known.until <= self._point.clock() else known

    def _current(self) -> dict[bytes, _Known]:
        """Return the answers cached since the last change; empty without a lease."""
        point = self._point
        if self._known_of != point.applied or not point.lease.holds() or self._size > _MOST_KNOWN:
            self._known, self._known_of = {}, point.applied
            self._size = 0
        return self._known

    def _find(self, place: bytes, asked: Asked | None) -> _Known:
        """Decide a question and cache the answer."""
        each = self._answer_to(asked)
        unnamed = each.asked
        if self._point.lease.holds() and (unnamed is None or is_short(unnamed)):
            self._known[place] = each
            texts = () if unnamed is None else (unnamed.action, unnamed.resource.id)
            self._size += _OF_ONE + len(each.encoded) + sum(map(getsizeof, texts))
        return each

    def _answer_to(self, asked: Asked | None) -> _Known:
        point = self._point
        evaluated = Evaluated(INCOMPLETE, None, float("inf")) if asked is None else point.find(asked)
        until = float("-inf") if evaluated.answer is STALE else point.time.when(evaluated.until)
        unnamed = None if asked is None else replace(asked, subject=Subject(asked.subject.type, ""))
        return _Known(self._encoded(evaluated), until, unnamed, evaluated, _outcome(evaluated))

    def _encoded(self, evaluated: Evaluated) -> bytes:
        policy = self._point.state.policy
        if policy is None:
            return b'{"decision":false,"context":{"reason":"stale","revision":0}}'
        return _encode(decision_of(evaluated.answer, policy, partial(self._layers_shown, policy)))

    def _layers_shown(self, policy: Policy) -> tuple[str, ...]:
        asking = self._point.asking
        if asking is None:
            return ()
        if policy.judge(PERMISSION, _TELLS_CODES, asking.held).allowed:
            return (RESOURCE, PERMISSION)
        name = f"forward {where(asking.service, self._follower.settings.services[0])}"
        return (RESOURCE,) if policy.decide(ACCOUNT, name, asking).allowed else ()

    def _note_one(self, request_id: str, asked: Asked | None, evaluated: Evaluated) -> None:
        self._note([_Known(b"", 0.0, asked, evaluated, _outcome(evaluated))], request_id)

    def _note(self, answers: Sequence[_Known], request_id: str) -> None:
        """Count the answers to a request, and pass those that are kept to the decision log."""
        counts = self._answered
        for each in answers:
            counts[each.outcome] += 1
        log = self._log
        policy, asking = self._point.state.policy, self._point.asking
        if log is None or policy is None or asking is None:
            return
        request = of_request(self._clock.text(), request_id, "", asking.user_id)
        lines = []
        for each in answers:
            if (
                each.asked is None
                or each.outcome == "stale"
                or not log.keeps(allowed=each.outcome == "allow")
            ):
                continue
            answer, subject, codes = each.logged or self._logged(each, each.asked, policy, asking)
            lines.append(line_of(request, answer, subject, codes))
        if lines:
            log.put_lines(lines)

    def _logged(self, each: _Known, asked: Asked, policy: Policy, asking: Caller) -> _OfKnown:
        """Return the parts of the log line about an answer, and cache them."""
        caller = each.evaluated.caller
        held, satisfied = codes_asked(caller), words_asked(caller, self._point.time.now())
        answer = answer_parts(policy, asked, each.evaluated.answer, satisfied, asking.service)
        subject = subject_part(asked.subject, caller)
        codes = of_codes(None if held is None else account_codes(held), ceilings_of(held))
        each.logged = _OfKnown(answer, subject, codes)
        self._size += len(answer.decided) + len(answer.rest) + len(subject)
        return each.logged

    def _ready(self) -> Reply:
        point, follower = self._point, self._follower
        facts = {
            "status": "down" if point.is_stale else "up",
            "hub": follower.settings.hub,
            "services": list(follower.settings.services),
            "revision": follower.revision,
            "rights": point.state.rights,
            "agents": point.state.acting,
            "ageMs": None if point.lease.age == float("inf") else round(1000 * point.lease.age),
            "boundMs": round(1000 * point.lease.bound),
            "fault": follower.fault,
        }
        return Reply(503 if point.is_stale else 200, _encode(facts))

    def samples(self) -> list[Sample]:
        return [
            *self._follower.samples(),
            *(
                Sample("portcullis_pdp_answers_total", count, {"outcome": outcome})
                for outcome, count in self._answered.items()
            ),
            *self._times.samples("portcullis_pdp_request_seconds", {}),
            *(() if self._log is None else self._log.samples()),
        ]


def _outcome(evaluated: Evaluated) -> Literal["allow", "deny", "stale"]:
    if evaluated.answer is STALE:
        return "stale"
    return "allow" if evaluated.answer.allowed else "deny"


def _place(question: bytes) -> bytes:
    """Return the cache key of a question; a token as the subject would take much memory."""
    return question if len(question) <= _LONGEST_PLACE else blake2b(question, digest_size=32).digest()


def _refused(refusal: errors.Refusal, request_id: str) -> Reply:
    kind, stated = type(refusal), refusal.sentence
    body = {
        "type": f"/docs/errors#{kind.code.replace('_', '-')}",
        "title": kind.title,
        "status": kind.status,
        "detail": refusal.detail,
        "code": kind.code,
        **({} if stated is None else {"detailCode": stated.code, "params": stated.params}),
        "requestId": request_id,
        **refusal.extra,
    }
    headers = tuple((name.lower().encode(), value.encode()) for name, value in refusal.headers.items())
    return Reply(kind.status, _encode(body), _PROBLEM, headers)


class _Server(uvicorn.Server):
    """Stops at SIGTERM or SIGINT without signalling itself, so that later steps can run in order."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Handle both signals while it serves."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.handle_exit, number, None)
        try:
            yield
        finally:
            for number in (signal.SIGTERM, signal.SIGINT):
                loop.remove_signal_handler(number)


async def serve(follower: Follower, app: PdpApp) -> None:
    """Serve the application at the address of the settings, and follow the hub, until SIGTERM or SIGINT.

    Raises PdpSettingsError for a hub that signs with a shared key, and OSError for an address in use.
    """
    sys.setswitchinterval(_TURN)
    listener = listening(follower.settings.address())
    config = uvicorn.Config(
        app,
        http="httptools",
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=5,
    )
    server = _Server(config)
    following = asyncio.create_task(follower.run())
    serving = asyncio.create_task(server.serve([listener]))
    try:
        done, _ = await asyncio.wait((following, serving), return_when=asyncio.FIRST_COMPLETED)
    finally:
        server.should_exit = True
        following.cancel()
        await asyncio.gather(serving, following, return_exceptions=True)
    for task in done:
        if not task.cancelled() and (error := task.exception()) is not None:
            raise error
