"""Whether two policies agree on all callers and all requests; if not, who shows the difference."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from operator import attrgetter
from typing import Final

from service.authz.engine.classes_elsewhere import every_compared_class
from service.authz.engine.policy import Policy
from service.authz.engine.rules import OF_CODES
from service.authz.proof.conditions import Condition, condition_of, escaping_both
from service.authz.proof.line_answers import line_answers


@dataclass(frozen=True, slots=True)
class PossibleCaller:
    """A caller who may exist: with held codes, sorted, or None for one who is not logged in."""

    held: tuple[str, ...] | None

    @property
    def logged_in(self) -> bool:
        """Whether the caller is logged in."""
        return self.held is not None

    @property
    def codes(self) -> tuple[str, ...]:
        """The held codes; none for a caller who is not logged in."""
        return self.held or ()

    @property
    def size(self) -> int:
        """How many things the caller has: a login and each code; 0 is a visitor."""
        return 0 if self.held is None else 1 + len(self.held)


@dataclass(frozen=True, slots=True)
class DifferingRequest:
    """Requests that two policies do not decide alike for every possible caller.

    ``layer`` is None for a request, whose ``name`` is method and path, such as ``GET /api/user/{id}`` or
    ``GET /api/user/7``. In the layers ``grant`` and ``permission`` the name is a permission code. ``gains``
    is a smallest caller whom only the second policy lets pass, ``loses`` one whom only the first does; None
    where there is none.
    """

    name: str
    gains: PossibleCaller | None
    loses: PossibleCaller | None
    layer: str | None = None


VISITOR: Final = PossibleCaller(None)
_Found = tuple[PossibleCaller | None, PossibleCaller | None]


def differing_requests(before: Policy, after: Policy) -> list[DifferingRequest]:
    """Return the requests and codes that two policies don't decide alike, by name; empty if they agree.

    Exact for every possible caller, whatever codes and wildcards that caller holds, and for every request:
    finitely many classes of requests and representatives of held codes stand for all. The models may differ
    too, within the closed grammar of the matcher; PolicyError for one outside it.
    """
    asked = _Comparison(before, after)
    return [*sorted(asked.requests(), key=attrgetter("name")), *asked.codes()]


def smallest_example(found: list[DifferingRequest]) -> tuple[DifferingRequest, PossibleCaller] | None:
    """Return the request and the caller with which a difference is shown in the simplest way."""
    shown = [(one, caller) for one in found for caller in (one.gains, one.loses) if caller is not None]
    return min(shown, key=lambda each: (each[0].layer or "", each[1].size, each[0].name), default=None)


class _Comparison:
    def __init__(self, before: Policy, after: Policy) -> None:
        self._before, self._after = before, after
        self._known: dict[tuple[Condition, Condition], _Found] = {}

    def requests(self) -> Iterator[DifferingRequest]:
        for old, new in every_compared_class(self._before, self._after):
            gains, loses = self._between(condition_of(self._before, old), condition_of(self._after, new))
            could = old is not None and old.passes(self._before, None)
            can = new is not None and new.passes(self._after, None)
            if can and not could:
                gains = VISITOR
            if could and not can:
                loses = VISITOR
            if one := new or old:
                yield from self._shown(one.name, gains, loses)

    def codes(self) -> Iterator[DifferingRequest]:
        old, new = self._before.rules, self._after.rules
        for layer in sorted(OF_CODES):
            for code in sorted({*old.objects(layer), *new.objects(layer)}):
                could, can = (
                    Condition(line_answers(policy.model_text), (policy.rules.codes(layer, code),))
                    for policy in (self._before, self._after)
                )
                yield from self._shown(code, *self._between(could, can), layer)

    def _between(self, old: Condition, new: Condition) -> _Found:
        if old == new:
            return None, None
        if (old, new) not in self._known:
            gains, loses = escaping_both(new, old)
            self._known[old, new] = _caller(gains), _caller(loses)
        return self._known[old, new]

    @staticmethod
    def _shown(
        name: str, gains: PossibleCaller | None, loses: PossibleCaller | None, layer: str | None = None
    ) -> Iterator[DifferingRequest]:
        if gains or loses:
            yield DifferingRequest(name, gains, loses, layer)


def _caller(held: frozenset[str] | None) -> PossibleCaller | None:
    return None if held is None else PossibleCaller(tuple(sorted(held)))
