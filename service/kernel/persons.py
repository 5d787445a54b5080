"""Decide which accounts count as one person, from the control of users over accounts.

An edge records that the holder of an account had a way into another account, and the time of the last such
act. The edge expires some days later. *Standing behind* follows any number of edges.
"""

from collections import deque
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import reduce
from itertools import combinations
from typing import Final, Literal, TypeAlias

from service.kernel.coded_sentences import Sentence
from service.kernel.core_sentences import sentence

ControlAct: TypeAlias = Literal[
    "made", "password", "address", "factor", "key", "hand_over", "link", "take_over"
]
"""The way in which a holder gained control of an account. ``made``: created it and gave the first way in.
``password``, ``address``, ``factor``, ``key``: set its password or address, removed its second factors,
created an API key. ``hand_over``: handed it over to a provider. ``link``: saw a link to it. ``take_over``:
recorded before the acts were distinguished.
"""

TAKEOVER_DAYS: Final = 30
"""Number of days for which an act counts; the settings can change it."""
MOST_TAKEOVER_DAYS: Final = 366
"""The greatest value of that setting."""


@dataclass(frozen=True, slots=True)
class Edge:
    """Record that ``holder_id`` did ``act`` to ``account_id``, most recently at ``time``."""

    holder_id: int
    account_id: int
    act: ControlAct
    time: datetime


@dataclass(frozen=True, slots=True)
class SamePerson:
    """Why ``first`` and ``second`` count as one person: the edges, each way from its holder down."""

    first: int
    second: int
    edges: tuple[Edge, ...]

    @property
    def user_ids(self) -> set[int]:
        """The accounts that the sentence names."""
        ids = {self.first, self.second}
        return ids.union(*((edge.holder_id, edge.account_id) for edge in self.edges))

    def sentence(self, names: Mapping[int, str]) -> Sentence:
        """Return the reason in words; ``names`` are those of ``user_ids``, without deleted accounts."""

        def named(user_id: int) -> str:
            return names.get(user_id) or sentence("deleted_account")

        def stated(edge: Edge) -> Sentence:
            return sentence(
                "act_on_account",
                holder=named(edge.holder_id),
                act=edge.act,
                account=named(edge.account_id),
                day=_day(edge.time),
            )

        acts = reduce(
            lambda first, last: sentence("both_acts", first=first, last=last), map(stated, self.edges)
        )
        return sentence("same_person", first=named(self.first), second=named(self.second), acts=acts)


_Place: TypeAlias = tuple[int, bool]
"""An account that stands behind another one, and whether its way there has other acts than makings."""
_Ways: TypeAlias = dict[_Place, tuple[Edge, _Place] | None]
"""By place, the edge that leads from it down, and to where; None for the account itself."""


class Persons:
    """Finds accounts that count as one person at an instant.

    ``edges`` are all that lead to the accounts in question, over any number of steps; those before ``since``
    have expired. ``parties`` are the accounts that take part in the decision.
    """

    def __init__(self, edges: Iterable[Edge], parties: Collection[int], since: datetime) -> None:
        self._parties = frozenset(parties)
        self._since = since
        self._into: dict[int, list[Edge]] = {}
        self._known: dict[int, _Ways] = {}
        for edge in edges:
            if edge.time > since and edge.holder_id != edge.account_id:
                self._into.setdefault(edge.account_id, []).append(edge)
        for into in self._into.values():
            into.sort(key=lambda edge: (edge.time, edge.holder_id, edge.act), reverse=True)

    def taking_part(self, parties: Collection[int]) -> "Persons":
        """Return the same of a decision in which other accounts take part."""
        changed = Persons((), parties, self._since)
        changed._into, changed._known = self._into, self._known
        return changed

    def behind(self, user_id: int) -> frozenset[int]:
        """Return the accounts that stand behind an account, without itself."""
        return frozenset(holder for holder, _ in self._ways(user_id)) - {user_id}

    def same(self, first: int, second: int) -> SamePerson | None:
        """Return the reason for which two accounts count as one person; None if they do not.

        One account stands behind the other, or a third account stands behind both. A third account counts if
        it is a party, or if not all of the edges are makings: a creator of all accounts would join them all.
        """
        if first == second:
            return SamePerson(first, second, ())
        to_first, to_second = self._ways(first), self._ways(second)
        for above, ways in ((second, to_first), (first, to_second)):
            if (way := self._way(ways, above)) is not None:
                return SamePerson(first, second, way)
        for holder in sorted(self.behind(first) & self.behind(second)):
            if (edges := self._joining(to_first, to_second, holder)) is not None:
                return SamePerson(first, second, edges)
        return None

    def same_as_one_of(self, user_id: int, others: Iterable[int]) -> SamePerson | None:
        """Return why an account counts as the same person as one of ``others``; None if it does not."""
        return next((same for each in others if (same := self.same(user_id, each))), None)

    def pairs(self, user_ids: Collection[int]) -> set[frozenset[int]]:
        """Return the pairs of accounts among ``user_ids`` that count as one person."""
        return {frozenset(pair) for pair in combinations(sorted(user_ids), 2) if self.same(*pair)}

    def _joining(self, to_first: _Ways, to_second: _Ways, holder: int) -> tuple[Edge, ...] | None:
        """Return the ways by which ``holder``, who stands behind both, joins them; None if they do not."""
        takes = (holder, True)
        if holder in self._parties:
            ways = self._way(to_first, holder), self._way(to_second, holder)
        elif takes in to_second:
            ways = self._way(to_first, holder), _down(to_second, takes)
        elif takes in to_first:
            ways = _down(to_first, takes), self._way(to_second, holder)
        else:
            return None
        return tuple(dict.fromkeys(edge for way in ways for edge in way or ()))

    @staticmethod
    def _way(ways: _Ways, holder: int) -> tuple[Edge, ...] | None:
        """Return the shortest way from a holder down; None if they do not stand behind."""
        known = [_down(ways, (holder, kind)) for kind in (False, True) if (holder, kind) in ways]
        return min(known, key=len, default=None)

    def _ways(self, user_id: int) -> _Ways:
        """Return the accounts that stand behind an account, by the nearest edges first."""
        if user_id not in self._known:
            ways: _Ways = {(user_id, False): None}
            waiting = deque(ways)
            while waiting:
                below = account, taken = waiting.popleft()
                for edge in self._into.get(account, ()):
                    place = edge.holder_id, taken or edge.act != "made"
                    if place not in ways and edge.holder_id != user_id:
                        ways[place] = edge, below
                        waiting.append(place)
            self._known[user_id] = ways
        return self._known[user_id]


def _down(ways: _Ways, place: _Place) -> tuple[Edge, ...]:
    """Return the edges from a holder down to the account that ``ways`` is of."""
    edges: list[Edge] = []
    while (step := ways[place]) is not None:
        edge, place = step
        edges.append(edge)
    return tuple(edges)


def since_of(at: datetime, days: int) -> datetime:
    """Return the instant before which acts no longer count at ``at``, ``days`` after the last one."""
    return at - timedelta(days=days)


def _day(time: datetime) -> Sentence:
    day = time.astimezone(UTC)
    return sentence("calendar_day", day=day.day, month=str(day.month), year=str(day.year))
