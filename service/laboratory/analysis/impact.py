"""Differences of two policies: lines, and access gained and lost, as the enforcer decides with each."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import TypeAlias

from service.authz.engine.lines import Lines
from service.authz.engine.policy import Policy
from service.authz.engine.rules import APPROVE, REQUEST, REVIEW, Rule
from service.kernel.codes import HeldCodes
from service.laboratory.analysis.comparison import Alike, Differing, DifferingRequest, OnDemand, compared
from service.laboratory.analysis.equivalence_classes import (
    Classes,
    EquivalenceClasses,
    Tally,
    credited,
    of_classes,
)
from service.laboratory.analysis.opening_codes import OpeningCodes
from service.laboratory.lint.model import parsed_model
from service.laboratory.proof.batch_decider import EVERYBODY, BatchDecider, all_requests, deciding_lines
from service.laboratory.proof.conditions import Clauses, lets_visitors_pass

Roles = tuple[str, ...]
"""The codes of the roles of a user, sorted."""


@dataclass(frozen=True, slots=True)
class Standing:
    """Permissions at one moment: the policy, the codes that each role grants, and users by their roles."""

    policy: Policy
    codes: Mapping[str, tuple[str, ...]]
    users: Mapping[Roles, int]
    _held: dict[Roles, HeldCodes] = field(default_factory=dict, repr=False, compare=False)

    def held(self, roles: Iterable[str]) -> HeldCodes:
        """Return the codes held by a user with these roles."""
        key = tuple(roles)
        if (held := self._held.get(key)) is None:
            held = HeldCodes([code for role in key for code in self.codes.get(role, ())])
            self._held[key] = held
        return held


@dataclass(frozen=True, slots=True)
class Difference:
    """``users`` users of a role gain, or lose, each of ``access``; ``role_code`` is None for any login."""

    role_code: str | None
    users: int
    access: tuple[str, ...]


Move: TypeAlias = tuple[Roles, Roles]
"""The roles of a user before a change, and after it; mostly the same ones."""


@dataclass(frozen=True, slots=True)
class Differences:
    """Access granted and revoked by a change; ``altered`` are the affected ones of the given moves."""

    gains: Sequence[Difference]
    loses: Sequence[Difference]
    altered: frozenset[Move] = frozenset()


def differences(before: Standing, after: Standing, *, moves: Iterable[Move] = ()) -> Differences:
    """Return gained and lost access to endpoints and questions about requests, by role.

    Exact: each class of requests that the two policies distinguish is decided by both, for each role alone
    and for each set of roles that users have. A user who keeps an endpoint by another role is not counted. If
    no user has a role that gains or loses by itself, ``users`` is 0. Users who become able to log in gain the
    access of every login, and users who no longer can lose it. ``moves`` are those of users who are not
    counted, such as disabled ones: ``altered`` has the moves that would gain or lose something.
    """
    whole = differences_on_demand(before, after, compared(before.policy, after.policy), moves=moves)
    return Differences(tuple(whole.gains), tuple(whole.loses), whole.altered)


def differences_on_demand(
    before: Standing, after: Standing, asked: Iterable[Alike], *, moves: Iterable[Move] = ()
) -> Differences:
    """Return what ``differences`` returns, with gains and losses that are made when they are read.

    ``asked`` is what ``compared`` returns for the two policies.
    """
    return _Comparison(before, after, asked).made(moves)


def passing(standing: Standing, held: HeldCodes, routes: Iterable[str]) -> set[str]:
    """Return the requests to ``routes`` that a holder of ``held`` passes, by name."""
    decide = BatchDecider(standing.policy)
    requests = all_requests(standing.policy, routes)
    return {request.name for request in requests if decide.passes(decide.lines(request), held)}


_Tallies: TypeAlias = defaultdict[str | None, Tally]
"""Numbers of users who gain, or lose, classes, by the credited role."""


class _Comparison:
    def __init__(self, before: Standing, after: Standing, asked: Iterable[Alike]) -> None:
        self._before, self._after = before, after
        asked = (*asked, *_access_requests(before.policy, after.policy))
        layers = [(deciding_lines(alike.before), deciding_lines(alike.after), alike) for alike in asked]
        layers = [each for each in layers if not each[0] == each[1] == EVERYBODY]
        self._classes = [alike for _, _, alike in layers]
        held = {code for each in (before, after) for codes in each.codes.values() for code in codes}
        models = {each.policy.model_text for each in (before, after)}
        opening = {model: OpeningCodes(model, held) for model in models}
        could, can = [could for could, _, _ in layers], [can for _, can, _ in layers]
        self._could = EquivalenceClasses(opening[before.policy.model_text], before.codes, could)
        self._can = EquivalenceClasses(opening[after.policy.model_text], after.codes, can)
        self._gains: _Tallies = defaultdict(Tally)
        self._loses: _Tallies = defaultdict(Tally)

    def made(self, moves: Iterable[Move]) -> Differences:
        for role in self._before.codes.keys() & self._after.codes.keys():
            self._compare([role], [role], 0)
        for had, has, number in _moves(self._before.users, self._after.users):
            if had is None:
                self._record_admitted(has or ())
            elif has is None:
                self._gone(had)
            else:
                self._compare(had, has, number)
        altered = frozenset((had, has) for had, has in moves if self._could.of(had) != self._can.of(has))
        return Differences(self._listed(self._gains), self._listed(self._loses), altered)

    @cached_property
    def _visitors(self) -> tuple[Classes, Classes]:
        """The classes that pass without a login, before and after."""
        before = _visited(self._before.policy, (alike.before for alike in self._classes))
        return before, _visited(self._after.policy, (alike.after for alike in self._classes))

    def _compare(self, had: Sequence[str], has: Sequence[str], number: int) -> None:
        """Note what ``number`` users gain and lose who had the roles ``had`` and now have ``has``.

        With ``number`` 0 it is about a role by itself.
        """
        could, can = self._could.of(had), self._can.of(has)
        self._note(self._gains, self._can, has, can & ~could, number)
        self._note(self._loses, self._could, had, could & ~can, number)

    def _record_admitted(self, has: Sequence[str]) -> None:
        """Record the gains of a user with the roles ``has`` who could not log in before."""
        could, _ = self._visitors
        login = self._can.of(()) & ~could
        self._gains[None].add(login, 1)
        self._note(self._gains, self._can, has, self._can.of(has) & ~could & ~login, 1)

    def _gone(self, had: Sequence[str]) -> None:
        """Record the losses of a user with the roles ``had`` who can no longer log in."""
        _, can = self._visitors
        login = self._could.of(()) & ~can
        self._loses[None].add(login, 1)
        self._note(self._loses, self._could, had, self._could.of(had) & ~can & ~login, 1)

    @staticmethod
    def _note(
        tallies: _Tallies, passing: EquivalenceClasses, roles: Sequence[str], classes: Classes, number: int
    ) -> None:
        if classes:
            for role, by_role in credited(passing, roles, classes):
                tallies[role].add(by_role, number)

    def _listed(self, tallies: _Tallies) -> Sequence[Difference]:
        """Return one entry for each role and number of users, by role; no role at all comes first."""
        entries = [
            (role, number, classes)
            for role, tally in sorted(tallies.items(), key=lambda entry: entry[0] or "")
            for number, classes in sorted(tally.numbers().items())
        ]
        return OnDemand(entries, self._difference)

    def _difference(self, entry: tuple[str | None, int, Classes]) -> Difference:
        role, number, classes = entry
        names = chain.from_iterable(alike.names for alike in of_classes(self._classes, classes))
        return Difference(role, number, tuple(sorted(names)))


def _access_requests(before: Policy, after: Policy) -> Iterator[Alike]:
    """Yield the questions about roles: requesters, approvers and reviewers, by object."""
    old, new = before.rules, after.rules
    for layer in (REQUEST, APPROVE, REVIEW):
        for name in sorted({*old.objects(layer), *new.objects(layer)}):
            yield Alike((old.codes(layer, name),), (new.codes(layer, name),), None, (f"{layer} {name}",))


def _visited(policy: Policy, classes: Iterable[Clauses]) -> Classes:
    """Return the classes, by their clauses, that pass without a login."""
    return sum(1 << place for place, clauses in enumerate(classes) if lets_visitors_pass(policy, clauses))


def _moves(
    before: Mapping[Roles, int], after: Mapping[Roles, int]
) -> Iterator[tuple[Roles | None, Roles | None, int]]:
    """Yield the number of users for each pair of former and present roles; a change moves one user at most.

    None is a user who does not exist, or cannot log in.
    """
    old, new = Counter(before), Counter(after)
    for roles, number in (old & new).items():
        yield roles, roles, number
    gone, come = list((old - new).elements()), list((new - old).elements())
    for place in range(max(len(gone), len(come))):
        yield gone[place] if place < len(gone) else None, come[place] if place < len(come) else None, 1


@dataclass(frozen=True, slots=True)
class AccessDiff:
    """Gained and lost access: by the roles of today, and for every possible caller.

    ``callers`` are all requests and grants that the two decide differently for some caller, even without an
    effect on today's roles. The members of all these lists are made when they are read.
    """

    by_role: Differences
    callers: Sequence[DifferingRequest]


@dataclass(frozen=True, slots=True)
class LineDiff:
    """The lines that only one of two policies has, each in its order, and whether the models differ."""

    added: tuple[str, ...]
    removed: tuple[str, ...]
    model_changed: bool


def line_diff(before: Policy, after: Policy) -> LineDiff:
    """Compare models, without comments and layout, and lines."""
    return LineDiff(
        tuple(map(str, _alone(after.rules, before.rules))),
        tuple(map(str, _alone(before.rules, after.rules))),
        parsed_model(before.model_text) != parsed_model(after.model_text),
    )


def _alone(lines: Lines, others: Lines) -> Iterator[Rule]:
    """Yield those of ``lines`` that are not among ``others``, in order."""
    for layer, objects in lines.by_object.items():
        for name, codes in objects.items():
            known = others.codes(layer, name)
            if codes != known:
                yield from (Rule(layer, name, code) for code in codes if code not in known)


def access_diff(before: Policy, after: Standing) -> AccessDiff:
    """Compare what ``before`` and the policy of ``after`` decide, for the roles and users of ``after``."""
    old = Standing(before, after.codes, after.users)
    asked = compared(before, after.policy)
    same_model = before.model_text == after.policy.model_text
    # The roles and users are the same: requests with the same lines are decided alike.
    decided = [alike for alike in asked if not (same_model and alike.before == alike.after)]
    return AccessDiff(differences_on_demand(old, after, decided), Differing(before, after.policy, asked))
