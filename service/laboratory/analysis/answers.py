"""Questions about requests and codes, and their answers: the enforcer's decision, and the reason."""

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Final, Literal, TypeAlias
from weakref import WeakKeyDictionary

from msgspec import Struct
from msgspec.structs import replace

from service.authz.engine import rules
from service.authz.engine.paths import shape
from service.authz.engine.policy import Decision, Policy, codes_by_key, tell_span
from service.authz.engine.resource_index import PARAMETER, OverlappingPatterns, comparable
from service.kernel.assurance import Satisfied, step_up
from service.kernel.codes import HeldCodes
from service.kernel.identity import Caller, codes_asked, standing_of, words_asked
from service.kernel.services import PORTCULLIS, split_object
from service.kernel.tracing import current_span, traced
from service.laboratory.analysis.explain import Reason, reason_of
from service.laboratory.proof.request_classes import registered

Unanswerable: TypeAlias = Literal["unknown_service", "not_canonical", "no_code"]
"""Why the enforcer is not asked; the answer is no.

``unknown_service``: there can be none with that name. ``not_canonical``: a path that could be read in two
ways. ``no_code``: the resource and the action make no permission code.
"""


class RequestTo(Struct, frozen=True):
    """A request to a service; ``path`` is canonical."""

    service: str
    method: str
    path: str


class RequestsTo(Struct, frozen=True):
    """All requests to a service that fit a template such as ``/orders/{id}``."""

    service: str
    method: str
    template: str


class UseOf(Struct, frozen=True):
    """The act that a permission code stands for."""

    code: str


Question: TypeAlias = RequestTo | RequestsTo | UseOf


_ANY: Final = "\x01"  # a value that no registered path has, so that only parameters fit it
MOST_PATHS: Final = 1000
"""Maximum number of paths of one template to test; each path takes one decision."""
_MOST_KEPT: Final = 100_000  # paths of all templates


class _Known:
    """Cached results for one policy."""

    def __init__(self) -> None:
        self.overlapping: dict[str, tuple[OverlappingPatterns, OverlappingPatterns]] = {}
        self._paths: dict[RequestsTo, tuple[str, ...] | None] = {}
        self._kept = 0

    def paths(self, policy: Policy, asked: RequestsTo) -> tuple[str, ...] | None:
        """Return the paths of a template, as ``Templates`` does; they are found once, if it is short."""
        if asked in self._paths:
            return self._paths[asked]
        distinct_paths = _distinct(policy, self, asked)
        if is_short(asked):
            if self._kept >= _MOST_KEPT:
                self._paths.clear()
                self._kept = 0
            self._paths[asked] = distinct_paths
            self._kept += 1 + len(distinct_paths or ())
        return distinct_paths


class Templates:
    """Finds the paths that stand for all requests of a template; remembers them while a policy is in use."""

    def __init__(self) -> None:
        self._known: WeakKeyDictionary[Policy, _Known] = WeakKeyDictionary()

    def __len__(self) -> int:
        return len(self._known)

    def paths(self, policy: Policy, asked: RequestsTo) -> tuple[str, ...] | None:
        """Return paths such that any request that fits the template is decided by the lines of one of them.

        The first is that of a request with unregistered values. For ``GET /orders/{id}`` the others are those
        of more specific resources, such as ``/orders/new``. None for more than ``MOST_PATHS`` paths.
        """
        if (known := self._known.get(policy)) is None:
            known = self._known[policy] = _Known()
        # The names of parameters make no difference.
        return known.paths(policy, RequestsTo(asked.service, asked.method, shape(asked.template)))


def _distinct(policy: Policy, known: _Known, asked: RequestsTo) -> tuple[str, ...] | None:
    """Return the candidates whose lines differ from those of the candidates before; None for too many."""
    by_lines: dict[tuple[object, ...], str] = {}
    for number, path in enumerate(_candidates(policy, known, asked)):
        # The template itself may be of a feature that is off: then no caller passes.
        if number and asked.service == PORTCULLIS and policy.routes.is_absent(asked.method, path):
            continue
        if number == MOST_PATHS:
            return None
        by_lines.setdefault(_lines(policy, asked, path), path)
    return tuple(by_lines.values())


def _lines(policy: Policy, asked: RequestsTo, path: str) -> tuple[object, ...]:
    """Return a value that is equal for requests that are decided alike."""
    method = asked.method
    if asked.service != PORTCULLIS:
        return _of_object(policy, rules.RESOURCE, policy.object_at(asked.service, method, path))
    route = policy.routes.find(method, path)
    resource = policy.resource_at(method, path) or rules.UNREGISTERED
    return _of_object(policy, rules.RESOURCE, resource), route and _of_object(policy, rules.ENDPOINT, route)


def _of_object(policy: Policy, layer: str, name: str) -> tuple[object, ...]:
    """Return the codes that open an object, and the words that are demanded for it."""
    codes = policy.rules.codes
    return codes(layer, name), codes(rules.ASSURANCE, rules.assured(layer, name))


def _candidates(policy: Policy, known: _Known, asked: RequestsTo) -> Iterator[str]:
    """Yield a path for each way in which resources and routes meet the template."""
    service = policy.service(asked.service)
    if service is None:
        yield asked.template
        return
    if asked.service not in known.overlapping:
        known.overlapping[asked.service] = _overlapping(policy, asked.service)
    resources, routes = known.overlapping[asked.service]
    method = "GET" if asked.method == "HEAD" and asked.service != PORTCULLIS else asked.method
    whole = f"{method} {comparable(service, shape(asked.template))}".split("/")
    yield _path(whole)
    for _, narrowed in routes.overlapping(whole):
        yield _path(narrowed)
    for _, narrowed in resources.overlapping(whole):
        yield _path(narrowed)
        for _, narrower in routes.overlapping(narrowed):
            yield _path(narrower)


def _overlapping(policy: Policy, name: str) -> tuple[OverlappingPatterns, OverlappingPatterns]:
    """Return the resources and the routes of a service; those of another one have no routes here."""
    if name == PORTCULLIS:
        return OverlappingPatterns(registered(policy)), OverlappingPatterns(
            policy.rules.objects(rules.ENDPOINT)
        )
    service = policy.other_services[name]
    shapes = []
    for resource in policy.rules.objects(rules.RESOURCE):
        owner, route = split_object(resource)
        if owner != name or route.startswith("@"):
            continue
        method, _, path = route.partition(" ")
        shapes.append(f"{method} {comparable(service, shape(path))}")
    return OverlappingPatterns(shapes), OverlappingPatterns(())


def _path(segments: list[str]) -> str:
    return "/".join(segments).partition(" ")[2].replace(PARAMETER, _ANY)


TOO_WEAK: Final = "insufficient_user_authentication"

Why: TypeAlias = (
    Reason
    | Unanswerable
    | Literal[
        "other_service",
        "subject_not_active",
        "incomplete",
        "too_general",
        "insufficient_user_authentication",
        "stale",
    ]
)
"""The reason of an answer.

``other_service``: the account that asks may not ask about that service; the decision is about that account.
Or the delegation to an agent does not name the service; the decision is about the person of the delegation.
``subject_not_active``: the subject is not known, is disabled or banned, or its token is not valid or was
revoked. ``incomplete``: a question of a batch lacks a part, or has a part of a wrong type. ``too_general``:
the requests of a template meet more resources than are looked at (``templates.MOST_PATHS``).
``insufficient_user_authentication``: the codes allow, and the person has to authenticate more strongly or
again; as RFC 9470 §3 names it. ``stale``: a follower has no lease, so what it knows may be too old.
"""


class Answer(Struct, frozen=True):
    """The answer to one question; ``decision`` is the deciding one, None if the enforcer was not asked.

    ``used`` are the codes of the lines by which it allows, and ``used_by_key`` those of the lines that let
    the scopes of a person's API key pass. ``subject`` is the account of an API key that may pass: nobody can
    read from the key whose it is.
    """

    allowed: bool
    reason: Why
    decision: Decision | None = None
    used: tuple[str, ...] = ()
    used_by_key: tuple[str, ...] = ()
    subject: Caller | None = None


MOST_REMEMBERED: Final = 20_000
"""Maximum number of remembered answers of a policy in a process; beyond it the process starts anew."""
_LONGEST_REMEMBERED: Final = 1024


def is_short(asked: object) -> bool:
    """Return True if a question is short enough to be remembered: its texts come from the caller.

    The id of a subject does not count. Code that remembers it must limit it as well.
    """
    return len(repr(asked)) <= _LONGEST_REMEMBERED


class Answers:
    """Asks the enforcer; remembers what the policy in use has answered: a policy never changes."""

    def __init__(self, now: Callable[[], float] = time.time) -> None:
        """``now`` returns the time for the age of an authentication, in seconds."""
        self.now = now
        self._templates = Templates()
        self._policy: Policy | None = None
        self._remembered: dict[tuple[Question, HeldCodes | None, Satisfied | None], Answer] = {}

    def about(self, policy: Policy, question: Question, caller: Caller | None) -> Answer:
        """Return the answer about ``caller``, with ``used``; None is an anonymous caller."""
        if caller is not None and caller.key_id is not None:
            name = standing_of(caller, _service_of(policy, question))
            standing = None if name is None else policy.decide(rules.ACCOUNT, name, caller)
            if standing is not None and not standing.allowed:
                if caller.agent is None:
                    return as_answer(policy, standing, codes_asked(caller))
                return Answer(False, "other_service", standing)
        held, satisfied = codes_asked(caller), words_asked(caller, self.now())
        if policy is not self._policy or len(self._remembered) >= MOST_REMEMBERED:
            self._policy, self._remembered = policy, {}
        key = (question, held, satisfied)
        answer = self._remembered.get(key)
        if answer is None or current_span() is not None:
            answer = self.of(policy, question, held, satisfied)
            if answer.allowed:
                allowing = tuple(self._allowing(policy, question, held))
                lines = (decision.line for decision in allowing)
                used = tuple(line.code for line in lines if line is not None)
                answer = replace(answer, used=used, used_by_key=tuple(codes_by_key(allowing)))
            if is_short(question):
                self._remembered[key] = answer
        return answer

    def of(
        self, policy: Policy, question: Question, held: HeldCodes | None, satisfied: Satisfied | None
    ) -> Answer:
        """Return the answer for a caller who holds ``held`` and satisfies ``satisfied``; None is anonymous.

        All requests of a template are allowed only if each of them is. A permission code has no demand.
        """
        with traced("decide question") as span:
            answer = self._of(policy, question, held, satisfied)
            if span is not None:
                span.set("portcullis.decision.reason", answer.reason)
                if answer.decision is not None:
                    tell_span(span, answer.decision)
            return answer

    def codes(self, policy: Policy, question: Question) -> set[str]:
        """Return the codes of all lines that can decide a question about a logged-in caller.

        Held codes that hold none of them make no difference.
        """
        match question:
            case UseOf(code):
                return {*policy.rules.codes(rules.PERMISSION, code)}
            case RequestTo(service, method, path):
                places: Sequence[str] = [path]
            case RequestsTo(service, method):
                places = self._templates.paths(policy, question) or ()
        return {code for path in places for code in _codes(policy, service, method, path)}

    def _allowing(self, policy: Policy, question: Question, held: HeldCodes | None) -> Iterator[Decision]:
        """Yield the decisions about codes by which a question about a holder of ``held`` is allowed."""
        match question:
            case UseOf(code):
                yield policy.judge(rules.PERMISSION, code, held)
            case RequestTo(service, method, path):
                yield from policy.allowing(service, method, path, held)
            case RequestsTo(service, method):
                for path in self._templates.paths(policy, question) or ():
                    yield from policy.allowing(service, method, path, held)

    def _of(
        self, policy: Policy, question: Question, held: HeldCodes | None, satisfied: Satisfied | None
    ) -> Answer:
        match question:
            case UseOf(code):
                return as_answer(policy, policy.judge(rules.PERMISSION, code, held), held)
            case RequestTo(service, method, path):
                decision = policy.judge_request(service, method, path, held, satisfied)
                return as_answer(policy, decision, held)
            case RequestsTo():
                return self._of_all(policy, question, held, satisfied)

    def _of_all(
        self, policy: Policy, question: RequestsTo, held: HeldCodes | None, satisfied: Satisfied | None
    ) -> Answer:
        """Return the first denial among the requests of a template, or that all are allowed."""
        paths = self._templates.paths(policy, question)
        if paths is None:
            return Answer(False, "too_general")
        service, method = question.service, question.method
        decisions = (policy.judge_request(service, method, path, held, satisfied) for path in paths)
        first = next(decisions)
        denied = (decision for decision in decisions if not decision.allowed)
        return as_answer(policy, next(denied, first) if first.allowed else first, held)


def _service_of(policy: Policy, question: Question) -> str:
    """Return the service of a question; a code belongs to the service that its first part names."""
    if not isinstance(question, UseOf):
        return question.service
    first = question.code.partition(":")[0]
    return first if first in policy.other_services else PORTCULLIS


def _codes(policy: Policy, service: str, method: str, path: str) -> Iterator[str]:
    """Yield the codes of the lines that decide a request of a logged-in caller."""
    if service != PORTCULLIS:
        yield from policy.rules.codes(rules.RESOURCE, policy.object_at(service, method, path))
        return
    yield from policy.rules.codes(rules.RESOURCE, policy.resource_at(method, path) or rules.UNREGISTERED)
    if (route := policy.routes.find(method, path)) is not None:
        yield from policy.rules.codes(rules.ENDPOINT, route)


def as_answer(policy: Policy, decision: Decision, held: HeldCodes | None) -> Answer:
    """Return a decision of ``policy`` for a holder of ``held`` as an answer, with its reason."""
    if decision.allowed:
        return Answer(True, "opened", decision)
    if decision.layer == rules.ASSURANCE and step_up(decision.required, decision.codes) is not None:
        return Answer(False, TOO_WEAK, decision)
    codes = policy.rules.codes(decision.layer, decision.object)
    return Answer(False, reason_of(codes, decision.required, allowed=False, held=held), decision)
