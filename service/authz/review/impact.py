"""Who gains and who loses which endpoint by a change, as the enforcer decides before and after it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from service.authz.engine.policy import Policy
from service.authz.proof.compared import Alike, compared
from service.authz.proof.conditions import Clauses
from service.authz.review.batch_decider import EVERYBODY, BatchDecider, DecidingLines, all_requests
from service.authz.review.equivalence_classes import Classes, EquivalenceClasses, credited, numbers_of
from service.kernel.codes import HeldCodes

Roles = tuple[str, ...]
"""The codes of the roles of a user, sorted."""


@dataclass(frozen=True, slots=True)
class Standing:
    """Who may do what at one moment: the policy, the codes that each role gives, and users by their roles."""

    policy: Policy
    codes: Mapping[str, tuple[str, ...]]
    users: Mapping[Roles, int]
    _held: dict[Roles, HeldCodes] = field(default_factory=dict, repr=False, compare=False)

    def held(self, roles: Iterable[str]) -> HeldCodes:
        """Return what somebody holds who has these roles."""
        key = tuple(roles)
        if (held := self._held.get(key)) is None:
            held = HeldCodes([code for role in key for code in self.codes.get(role, ())])
            self._held[key] = held
        return held


@dataclass(frozen=True, slots=True)
class Difference:
    """``users`` users of a role gain, or lose, each of ``access``; ``role_code`` is None for no role."""

    role_code: str | None
    users: int
    access: tuple[str, ...]


Move: TypeAlias = tuple[Roles, Roles]
"""The roles that somebody had before a change, and has after it; mostly the same ones."""


@dataclass(frozen=True, slots=True)
class Differences:
    """What a change gives and takes away; ``altered`` are those of the moves asked about that it concerns."""

    gains: tuple[Difference, ...]
    loses: tuple[Difference, ...]
    altered: frozenset[Move] = frozenset()


def differences(
    before: Standing,
    after: Standing,
    asked: Iterable[Alike] | None = None,
    *,
    moves: Iterable[Move] = (),
) -> Differences:
    """Return who would gain and who would lose which endpoint, by role.

    Exact: each class of requests that the two policies tell apart is decided by both, for each role alone and
    for each set of roles that users have. A user who keeps an endpoint by another role is not counted. Where
    no user has a role that gains or loses by itself, ``users`` is 0. ``asked`` is what ``compared`` returns
    for the two policies, where it is known. ``moves`` are those of users who are not counted, such as
    disabled ones: ``altered`` tells which of them would gain or lose something.
    """
    if asked is None:
        asked = compared(before.policy, after.policy)
    return _Comparison(before, after, asked).made(moves)


def passing(standing: Standing, held: HeldCodes, routes: Iterable[str]) -> set[str]:
    """Return the requests to ``routes`` that a holder of ``held`` passes, by name."""
    decide = BatchDecider(standing.policy)
    requests = all_requests(standing.policy, routes)
    return {request.name for request in requests if decide.passes(decide.lines(request), held)}


class _Comparison:
    def __init__(self, before: Standing, after: Standing, asked: Iterable[Alike]) -> None:
        self._before, self._after = before, after
        layers = [(alike, _layers(alike.before), _layers(alike.after)) for alike in asked]
        layers = [each for each in layers if not each[1] == each[2] == EVERYBODY]
        self._all = [alike for alike, _, _ in layers]
        self._could = EquivalenceClasses(before.policy.model_text, (could for _, could, _ in layers))
        self._can = EquivalenceClasses(after.policy.model_text, (can for _, _, can in layers))
        self._gains: Counter[tuple[str | None, Classes]] = Counter()
        self._loses: Counter[tuple[str | None, Classes]] = Counter()

    def made(self, moves: Iterable[Move]) -> Differences:
        for role in self._before.codes.keys() & self._after.codes.keys():
            self._compare([role], [role], 0)
        for had, has, number in _moves(self._before.users, self._after.users):
            self._compare(had, has, number)
        altered = frozenset(move for move in moves if self._alters(*move))
        return Differences(self._listed(self._gains), self._listed(self._loses), altered)

    def _alters(self, had: Roles, has: Roles) -> bool:
        return self._could.of(self._before.held(had)) != self._can.of(self._after.held(has))

    def _compare(self, had: Sequence[str] | None, has: Sequence[str] | None, number: int) -> None:
        """Note what ``number`` users gain and lose who had the roles ``had`` and now have ``has``.

        None stands for a user who is not there, or disabled. With ``number`` 0 it is about a role by itself.
        """
        before, after = self._before.held, self._after.held
        could = 0 if had is None else self._could.of(before(had))
        can = 0 if has is None else self._can.of(after(has))
        if gained := can & ~could:
            for credit in credited(self._can, has or (), after, gained):
                self._gains[credit] += number
        if lost := could & ~can:
            for credit in credited(self._could, had or (), before, lost):
                self._loses[credit] += number

    def _listed(self, counts: Counter[tuple[str | None, Classes]]) -> tuple[Difference, ...]:
        """Return one entry for each role and number of users, by role; no role at all comes first."""
        users: Counter[tuple[str | None, int]] = Counter()
        for (role, classes), number in counts.items():
            for index in numbers_of(classes):
                users[role, index] += number
        entries: dict[tuple[str | None, int], list[str]] = {}
        for (role, index), number in users.items():
            entries.setdefault((role, number), []).extend(self._all[index].names)
        return tuple(
            Difference(role, number, tuple(sorted(names)))
            for (role, number), names in sorted(
                entries.items(), key=lambda entry: (entry[0][0] or "", entry[0][1])
            )
        )


def _layers(clauses: Clauses) -> DecidingLines:
    """Return the clauses of both layers; one that is not asked lets everybody pass."""
    resource, endpoint = (*clauses, *EVERYBODY[len(clauses) :])
    return resource, endpoint


def _moves(
    before: Mapping[Roles, int], after: Mapping[Roles, int]
) -> Iterator[tuple[Roles | None, Roles | None, int]]:
    """Yield how many users had which roles and now have which; a change moves one user at most."""
    old, new = Counter(before), Counter(after)
    for roles, number in (old & new).items():
        yield roles, roles, number
    gone, come = list((old - new).elements()), list((new - old).elements())
    for place in range(max(len(gone), len(come))):
        yield gone[place] if place < len(gone) else None, come[place] if place < len(come) else None, 1
