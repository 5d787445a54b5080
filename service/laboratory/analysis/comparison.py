"""Compare two policies for all callers and all requests, and find callers who show a difference."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, product
from operator import attrgetter
from typing import Final, Generic, TypeVar, overload

from service.authz.engine import rules
from service.authz.engine.lines import Lines
from service.authz.engine.policy import Policy
from service.kernel.account_acts import DEMANDED
from service.kernel.codes import HeldCodes
from service.laboratory.analysis.demands import Callers, Demands, demands_on, meeting, weakest
from service.laboratory.proof.conditions import (
    Clauses,
    Condition,
    clauses_of,
    lets_visitors_pass,
    line_answers,
)
from service.laboratory.proof.escaping import escaping_both
from service.laboratory.proof.external_classes import every_compared_class
from service.laboratory.proof.request_classes import RequestClass

S = TypeVar("S")
T_co = TypeVar("T_co", covariant=True)


class OnDemand(Sequence[T_co], Generic[S, T_co]):
    """Members for which less is kept than they are: each is made anew when it is read."""

    def __init__(self, kept: Sequence[S], make: Callable[[S], T_co]) -> None:
        """``make`` creates a member from the value kept for it."""
        self._kept, self._make = kept, make

    def __len__(self) -> int:
        return len(self._kept)

    @overload
    def __getitem__(self, index: int) -> T_co: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[T_co]: ...
    def __getitem__(self, index: int | slice) -> T_co | Sequence[T_co]:
        if isinstance(index, slice):
            return [self._make(kept) for kept in self._kept[index]]
        return self._make(self._kept[index])


@dataclass(frozen=True, slots=True)
class Alike:
    """The names of requests that have the same clauses in the first policy, and the same in the second.

    So they have the same ``demands`` in each, where both policies serve them.
    """

    before: Clauses
    after: Clauses
    demands: tuple[Demands, Demands] | None
    names: tuple[str, ...]


def compared(before: Policy, after: Policy) -> list[Alike]:
    """Return all requests that one of the policies serves, in groups; each name is in one of them."""
    groups: dict[tuple[Clauses, Clauses, tuple[Demands, Demands] | None], list[str]] = {}
    for old, new in every_compared_class(before, after):
        if request_class := new or old:
            could, once = _decided(before, old)
            can, now = _decided(after, new)
            demands = None if once is None or now is None else (once, now)
            groups.setdefault((could, can, demands), []).append(request_class.name)
    return [Alike(*asked, tuple(names)) for asked, names in groups.items()]


def _decided(policy: Policy, request_class: RequestClass | None) -> tuple[Clauses, Demands | None]:
    """Return the clauses of a class and the demands on it; none where the policy does not serve it."""
    if request_class is None:
        return clauses_of(policy, None), None
    resource = request_class.resource(policy)
    return clauses_of(policy, request_class, resource), demands_on(policy, request_class, resource)


@dataclass(frozen=True, slots=True)
class PossibleCaller:
    """A possible caller: with held codes, sorted, or None for a caller without a login.

    In the layer ``assurance`` it is the strongest word that the caller satisfies.
    """

    held: tuple[str, ...] | None

    @property
    def logged_in(self) -> bool:
        return self.held is not None

    @property
    def codes(self) -> tuple[str, ...]:
        """The held codes; none for a caller without a login."""
        return self.held or ()

    @property
    def size(self) -> int:
        """Number of the caller's properties: a login and each code; 0 is a visitor."""
        return 0 if self.held is None else 1 + len(self.held)


@dataclass(frozen=True, slots=True)
class DifferingRequest:
    """Requests that two policies do not decide alike for every possible caller.

    ``layer`` is None for a request, whose ``name`` is method and path, such as ``GET /api/user/{id}`` or
    ``GET /api/user/7``. In other layers it is an object: in ``grant`` and ``permission`` a permission code.
    In ``assurance`` it is a request too, or an act such as ``account set-contact self``. ``gains`` is a
    smallest caller whom only the second policy lets pass, ``loses`` a smallest caller whom only the first
    does; None if no such caller exists. Both are None for an object in one policy alone that lets no caller
    pass: a number of required approvals.
    """

    name: str
    gains: PossibleCaller | None
    loses: PossibleCaller | None
    layer: str | None = None


VISITOR: Final = PossibleCaller(None)
_Found = tuple[PossibleCaller | None, PossibleCaller | None]
_MOST_TRIED: Final = 8
"""Plain callers that are tried before all possible ones are gone through."""


def differing_requests(before: Policy, after: Policy) -> list[DifferingRequest]:
    """Return the requests and codes that two policies don't decide alike, by name; empty if they agree.

    Exact for every possible caller, whatever codes and wildcards that caller holds, and for every request:
    finitely many classes of requests and canonical samples of held codes stand for all. The models may differ
    too, within the closed grammar of the matcher; PolicyError for one outside it.
    """
    return list(Differing(before, after, compared(before, after)))


def smallest_example(requests: list[DifferingRequest]) -> tuple[DifferingRequest, PossibleCaller] | None:
    """Return the request and the caller with which a difference is shown in the simplest way."""
    shown = [
        (request, caller)
        for request in requests
        for caller in (request.gains, request.loses)
        if caller is not None
    ]
    return min(shown, key=lambda each: (each[0].layer or "", each[1].size, each[0].name), default=None)


@dataclass(frozen=True, slots=True)
class _Place:
    """A difference between two policies: a request or a code, with the conditions of both."""

    name: str
    layer: str | None
    before: Condition
    after: Condition
    visitors: tuple[bool, bool] = (False, False)


class Differing(OnDemand[_Place | DifferingRequest, DifferingRequest]):
    """Result of ``differing_requests``; the callers of a member are searched when it is read.

    A plain caller proves a difference in most places. A search for the smallest of all possible callers takes
    ten times as long, and a page shows few of thousands of places.
    """

    def __init__(self, before: Policy, after: Policy, asked: Iterable[Alike]) -> None:
        """``asked`` are the requests that ``compared`` distinguishes."""
        self._before, self._after = self._policies = before, after
        self._answers = line_answers(before.model_text), line_answers(after.model_text)
        self._known: dict[tuple[Condition, Condition], _Found] = {}
        asked = tuple(asked)
        visitors = [
            (policy.model_text, policy.rules.codes(rules.RESOURCE, rules.NO_SESSION))
            for policy in self._policies
        ]
        self._decide_alike = visitors[0] == visitors[1]
        by_name = attrgetter("name")
        places: list[_Place | DifferingRequest] = [
            *sorted(self._requests(asked), key=by_name),
            *self._objects(),
            *sorted(self._demands(asked), key=by_name),
        ]
        super().__init__(places, self._shown)

    def _requests(self, asked: Iterable[Alike]) -> Iterator[_Place]:
        for alike in asked:
            if self._decide_alike and alike.before == alike.after:
                continue
            old, new = self._conditions(alike.before, alike.after)
            could = lets_visitors_pass(self._before, alike.before)
            can = lets_visitors_pass(self._after, alike.after)
            if could != can or self._differ(old, new):
                for name in alike.names:
                    yield _Place(name, None, old, new, (could, can))

    def _objects(self) -> Iterator[_Place]:
        """Yield where questions about single objects differ."""
        old, new = self._before.rules, self._after.rules
        for layer, name in [(rules.RESOURCE, rules.PREFLIGHT), *_objects_beside_requests(old, new)]:
            codes = (old.codes(layer, name),), (new.codes(layer, name),)
            if self._decide_alike and codes[0] == codes[1]:
                continue
            could, can = self._conditions(*codes)
            visitors = (
                lets_visitors_pass(self._before, codes[0]),
                lets_visitors_pass(self._after, codes[1]),
            )
            states = layer == rules.APPROVE and bool(*codes[0]) != bool(*codes[1])
            if states or visitors[0] != visitors[1] or self._differ(could, can):
                yield _Place(name, None if layer == rules.RESOURCE else layer, could, can, visitors)

    def _demands(self, asked: Iterable[Alike]) -> Iterator[DifferingRequest]:
        """Yield where a caller has authenticated strongly enough by one of the policies alone."""
        places = [(alike.demands, alike.names) for alike in asked]
        for name in self._asked_beside():
            old, new = ((policy.rules.codes(rules.ASSURANCE, name),) for policy in self._policies)
            places.append(((old, new), (name,)))
        for demands, names in places:
            if demands is None:
                continue
            could, can = (
                meeting(policy.model_text, each) for policy, each in zip(self._policies, demands, strict=True)
            )
            if could != can:
                gains, loses = _weakest(can - could), _weakest(could - can)
                yield from (DifferingRequest(name, gains, loses, rules.ASSURANCE) for name in names)

    def _asked_beside(self) -> Iterator[str]:
        """Yield the demands on acts, and on requests for roles that both policies have."""
        yield from (rules.assured(rules.ACCOUNT, act) for act in sorted(DEMANDED))
        before, after = (policy.rules.objects(rules.REQUEST) for policy in self._policies)
        yield from (rules.assured(rules.REQUEST, name) for name in sorted({*before} & {*after}))

    def _conditions(self, before: Clauses, after: Clauses) -> tuple[Condition, Condition]:
        return Condition(self._answers[0], before), Condition(self._answers[1], after)

    def _differ(self, old: Condition, new: Condition) -> bool:
        if old == new:
            return False
        return (
            _a_plain_caller_escapes(new, old)
            or _a_plain_caller_escapes(old, new)
            or self._between(old, new) != (None, None)
        )

    def _shown(self, place: _Place | DifferingRequest) -> DifferingRequest:
        if isinstance(place, DifferingRequest):
            return place
        gains, loses = self._between(place.before, place.after)
        match place.visitors:
            case (False, True):
                gains = VISITOR
            case (True, False):
                loses = VISITOR
        return DifferingRequest(place.name, gains, loses, place.layer)

    def _between(self, old: Condition, new: Condition) -> _Found:
        if old == new:
            return None, None
        if (old, new) not in self._known:
            gains, loses = escaping_both(new, old)
            self._known[old, new] = _caller(gains), _caller(loses)
        return self._known[old, new]


def _objects_beside_requests(*policies: Lines) -> Iterator[tuple[str, str]]:
    """Yield the objects of all layers that no request passes; the words about routers open nothing.

    Demands are asked of requests.
    """
    for layer in sorted({*rules.LAYERS} - {rules.RESOURCE, rules.ENDPOINT, rules.ASSURANCE}):
        for name in sorted({name for policy in policies for name in policy.objects(layer)}):
            if layer != rules.SERVICE or " " in name:
                yield layer, name


def _weakest(callers: Callers) -> PossibleCaller | None:
    return PossibleCaller(weakest(callers)[:1]) if callers else None


def _a_plain_caller_escapes(condition: Condition, other: Condition) -> bool:
    """Return True if a caller, of a few with a code of each clause, meets ``condition`` and not ``other``."""
    for codes in islice(product(*condition.clauses), _MOST_TRIED):
        held = HeldCodes(code for code in codes if not code.startswith("@"))
        if condition.is_met_by_holder(held) and not other.is_met_by_holder(held):
            return True
    return False


def _caller(held: frozenset[str] | None) -> PossibleCaller | None:
    return None if held is None else PossibleCaller(tuple(sorted(held)))
