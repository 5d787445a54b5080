"""Unused rights, and for each role a smaller set of codes that would have sufficed.

A decision needs the code of the line that allowed it. The use counts for each role of the user that gives the
code. So if two roles give one code, neither is unused, and each is reduced by itself.
"""

import asyncio
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from functools import cached_property
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from service.authz.engine.policy import Policy
from service.authz.engine.predicates import HOLDING
from service.authz.engine.rules import ASSURANCE
from service.features.assignments.store import Assignment
from service.features.decision_log.asked_again import as_of, asked_again
from service.features.decision_log.decision_event import DecisionEvent, event_in
from service.features.permission_use import store as permission_uses
from service.features.reviews import store_unused as unused_rights
from service.features.reviews.store_unused import GivenCode, KeyWithScopes, Unneeded, UnusedKey
from service.kernel.codes import HeldCodes
from service.kernel.value_rules import Code, Id, RoleCode
from service.laboratory.analysis.held_code_index import HeldCodeIndex
from service.records.database.paging import Page
from service.records.database.transactions import Connection

DAYS: Final = 90
"""The default number of days."""
MOST_DAYS: Final = 730

CheckedBy: TypeAlias = Literal["replay", "use"]
"""The basis of the proposed roles: replayed decisions of a log, or recorded use alone."""
Question: TypeAlias = frozenset[str]
"""The codes that a decision accepted; any one of them suffices."""


def grants(held: HeldCodes, code: str) -> bool:
    """Return whether one of the ``held`` codes satisfies a line with ``code``."""
    return any(holds(held, code) for holds in HOLDING.values())


class Granting:
    """Finds the held codes that grant a code: each predicate is satisfied by a single held code."""

    def __init__(self, held_codes: Iterable[str]) -> None:
        self._index = HeldCodeIndex(held_codes)
        self._granting: dict[str, frozenset[str]] = {}

    def of(self, code: str) -> frozenset[str]:
        """Return the held codes that each grant ``code``."""
        granting = self._granting.get(code)
        if granting is None:
            granting = self._granting[code] = frozenset(self._index.alone(code, grants))
        return granting


@dataclass(slots=True)
class Logged:
    """Needed codes and questions by role, from the allowed decisions of a log.

    ``begin`` is the time of the first event; ``days`` has the last day of each code, by role.
    """

    begin: datetime | None = None
    questions: dict[str, dict[str, set[Question]]] = field(default_factory=dict)
    days: dict[tuple[str, str], date] = field(default_factory=dict)

    def add(self, roles: Iterable[str], code: str, question: Question, day: date) -> None:
        """Add a decision for which a holder of ``roles`` needed ``code``."""
        for role in roles:
            self.questions.setdefault(role, {}).setdefault(code, set()).add(question)
            self.days[role, code] = max(day, self.days.get((role, code), day))

    def is_whole(self, since: date) -> bool:
        """Return whether the log covers the time since the beginning of a day."""
        return self.begin is not None and self.begin.date() < since


def read_log(policy: Policy, lines: Iterable[bytes], since: date) -> Logged:
    """Return the needed codes from one or several logs in sequence, for decisions since a day.

    Each decision is replayed with ``policy``. Decisions denied today and unreadable lines are skipped.
    """
    logged = Logged()
    for line in lines:
        event = event_in(line)
        if event is None:
            continue
        time = datetime.fromisoformat(event.time).astimezone(UTC)
        logged.begin = min(time, logged.begin or time)
        if event.outcome == "deny" or time.date() < since:
            continue
        if isinstance(event, DecisionEvent):
            policy = as_of(policy, event)
            decisions = [*asked_again(policy, event)]
            needed = [
                (each.layer, each.object, each.line.code)
                for each in decisions
                if each.line is not None and each.layer != ASSURANCE
            ]
            if not all(each.allowed for each in decisions):
                continue
        elif event.layer is not None and event.object is not None and event.code is not None:
            needed = [(event.layer, event.object, event.code)]
        else:
            continue
        for layer, name, code in needed:
            question = frozenset(each for each in policy.rules.codes(layer, name) if not each.startswith("@"))
            if not code.startswith("@") and code in question:
                logged.add(event.roles, code, question, time.date())
    return logged


class SmallerRole(Struct, frozen=True):
    """A role with the codes that it gives, and fewer or narrower ones that would have done.

    ``recent`` are codes among both that the role has not given for the whole time.
    """

    role_id: Id
    role_code: RoleCode
    codes: tuple[Code, ...]
    proposed: tuple[Code, ...]
    recent: tuple[Code, ...]


@dataclass(frozen=True)
class Rights:
    """The codes that roles give, the codes of all Buttons, and the needed codes by role since a day.

    ``uses`` has the last day of each code by role id, as days after ``since``. It includes codes that another
    role of the holder gave.
    """

    since: date
    given: tuple[GivenCode, ...]
    buttons: Collection[str]
    uses: Mapping[int, Mapping[str, int]]

    @cached_property
    def covered(self) -> dict[int, set[str]]:
        """Return by role id the needed codes that the role gives; every role has an entry."""
        return {
            role: self._among({each.code for each in given}, self.uses.get(role, {}))
            for role, given in self._by_role.items()
        }

    def _among(self, given: set[str], needed: Iterable[str]) -> set[str]:
        return {code for code in needed if not given.isdisjoint(self._granting.of(code))}

    def unused_codes(self) -> list[GivenCode]:
        """Return the codes that roles gave for the whole period without a holder needing them."""
        used = {
            role: set[str]().union(*map(self._granting.of, codes)) for role, codes in self.covered.items()
        }
        return [
            each for each in self.given if not self._is_recent(each) and each.code not in used[each.role_id]
        ]

    def smaller_roles(self, logged: Logged, *, whole: bool) -> list[SmallerRole]:
        """Return the roles that could give fewer codes.

        With a ``whole`` log, a code is dropped if another one opens everything it was needed for. Otherwise
        every needed code stays.
        """
        covered, smaller = self.covered, []
        for role_id, given in self._by_role.items():
            last = self.uses.get(role_id, {})
            role_code, codes = given[0].role_code, tuple(each.code for each in given)
            recent = tuple(each.code for each in given if self._is_recent(each))
            questions = {frozenset([code]) for code in covered[role_id]}
            held = HeldCodes(codes)
            shown = {
                code: known
                for code, known in logged.questions.get(role_code, {}).items()
                if grants(held, code)
            }
            for code, known in shown.items():
                logged_last = (logged.days[role_code, code] - self.since).days
                if whole and last.get(code, logged_last) <= logged_last:
                    questions.discard(frozenset([code]))
                    questions |= known
                else:
                    questions.add(frozenset([code]))
            least = least_codes(codes, self.buttons, {*covered[role_id], *shown}, questions, keeping=recent)
            if least != set(codes):
                smaller.append(SmallerRole(role_id, role_code, codes, tuple(sorted(least)), recent))
        return smaller

    @cached_property
    def _granting(self) -> Granting:
        return Granting(each.code for each in self.given)

    def _is_recent(self, given: GivenCode) -> bool:
        return not _is_before(given.begin_time, self.since)

    @cached_property
    def _by_role(self) -> dict[int, list[GivenCode]]:
        roles: defaultdict[int, list[GivenCode]] = defaultdict(list)
        for each in self.given:
            roles[each.role_id].append(each)
        return roles


def least_codes(
    codes: Collection[str],
    buttons: Collection[str],
    needed: Iterable[str],
    questions: Collection[Question],
    *,
    keeping: Collection[str] = (),
) -> set[str]:
    """Return a minimal subset of ``codes`` with which a role still answers all ``questions``.

    For a wildcard, each ``needed`` code is taken if a Button has that code, otherwise the narrowest of
    ``codes`` that grants it. ``keeping`` always stays.
    """
    given = Granting(codes)
    chosen = {*keeping}
    for code in needed:
        if code in buttons:
            chosen.add(code)
        else:
            chosen.add(min(given.of(code), key=lambda each: (each.count("*"), -each.count(":"), each)))

    granting = Granting(chosen)
    answering = [set[str]().union(*map(granting.of, question)) for question in questions]
    if not all(answering):
        return chosen
    answered_by: defaultdict[str, list[set[str]]] = defaultdict(list)
    for answers in answering:
        for code in answers:
            answered_by[code].append(answers)
    # The widest first: a code that opens more than needed is dropped if the rest is enough.
    for code in sorted(
        chosen.difference(keeping), key=lambda code: (-code.count("*"), code.count(":"), code)
    ):
        if all(len(answers) > 1 for answers in answered_by[code]):
            chosen.discard(code)
            for answers in answered_by[code]:
                answers.discard(code)
    return chosen


@dataclass(frozen=True, slots=True)
class Unused:
    """Rights unused since the day ``since``, in the last ``days`` days.

    ``recorded_since`` is the start of recording, None if nothing is recorded. If recording began later than
    the requested period, ``since`` is the first fully recorded day. Without such a day, ``is_observed`` is
    false and nothing counts as unused.
    """

    since: date
    days: int
    recorded_since: datetime | None
    is_observed: bool
    checked_by: CheckedBy
    assignments: Page[Assignment]
    codes: tuple[GivenCode, ...]
    keys: Page[UnusedKey]
    scopes: Page[KeyWithScopes]
    roles: tuple[SmallerRole, ...]


@dataclass(frozen=True, slots=True)
class StoredUse:
    """The stored data: rights, start of recording, and pages of assignments, keys and scopes of keys."""

    rights: Rights
    recorded_since: datetime | None
    is_observed: bool
    assignments: Page[Assignment]
    keys: Page[UnusedKey]
    scopes: Page[KeyWithScopes]


def first_day(days: int, at: datetime | None = None) -> date:
    """Return the first of the last ``days`` days in UTC, including today; ``at`` is an instant of today."""
    return (at or datetime.now(UTC)).astimezone(UTC).date() - timedelta(days=days - 1)


async def read_unused(connection: Connection, days: int, *, page: int = 1, size: int = 20) -> StoredUse:
    """Return the rights unused in the last ``days`` days, limited to fully recorded days."""
    recorded = await permission_uses.recorded_since(connection)
    since = first_day(days)
    if recorded is not None:
        since = max(since, recorded.astimezone(UTC).date() + timedelta(days=1))
    if not _is_before(recorded, first_day(1)):
        nothing = Rights(since, (), (), {})
        return StoredUse(nothing, recorded, False, Page((), 0), Page((), 0), Page((), 0))
    given = await unused_rights.given_codes(connection)
    uses = await unused_rights.role_uses(connection, since)
    rights = Rights(since, tuple(given), await unused_rights.button_codes(connection), uses)
    covered = await asyncio.to_thread(lambda: rights.covered)
    roles = [role for role, begun in _since(given).items() if _is_before(begun, since)]
    part = {"page": page, "size": size}
    unneeded = Unneeded(since, roles, covered)
    assignments = await unused_rights.unused_assignments(connection, unneeded, **part)
    keys = await unused_rights.unused_keys(connection, since, **part)
    scopes = await unused_rights.keys_with_more_scopes(connection, since, **part)
    return StoredUse(rights, recorded, True, assignments, keys, scopes)


def _is_before(begun: datetime | None, since: date) -> bool:
    return begun is not None and begun.astimezone(UTC).date() < since


def _since(given: Iterable[GivenCode]) -> Mapping[int, datetime]:
    """Return the time since when each role gives a code."""
    begun: dict[int, datetime] = {}
    for each in given:
        begun[each.role_id] = min(each.begin_time, begun.get(each.role_id, each.begin_time))
    return begun


@dataclass(frozen=True, slots=True)
class RoleUses:
    """Recorded use of roles.

    ``recorded_since`` is as in ``Unused``. ``begun`` has the time since when each role gives a code, and
    ``covered`` the needed codes that each role gives; both by role id.
    """

    recorded_since: datetime | None
    begun: Mapping[int, datetime]
    covered: Mapping[int, Collection[str]]

    def unneeded(self, since: date) -> Unneeded:
        """Return the selection of assignments unused since a day, as defined in ``Unused``."""
        observed = _is_before(self.recorded_since, since)
        roles = [role for role, begun in self.begun.items() if observed and _is_before(begun, since)]
        return Unneeded(since, roles, self.covered)

    def use_since(
        self, role_id: int, begun: datetime | None, last: date | None, since: date
    ) -> Literal["used", "unused", "new", "use_not_recorded"]:
        """Return the use since a day of an assignment that was last needed on ``last``.

        ``begun`` is its beginning, None for no beginning. "Unused" is defined as in ``Unused``.
        """
        if last is not None and last >= since:
            return "used"
        given = self.begun.get(role_id)
        if given is None or not _is_before(self.recorded_since, since):
            return "use_not_recorded"
        return "unused" if _is_before(given if begun is None else max(given, begun), since) else "new"


async def read_role_uses(connection: Connection) -> RoleUses:
    """Return the recorded use of roles within the retention period."""
    recorded = await permission_uses.recorded_since(connection)
    given = await unused_rights.given_codes(connection)
    needed = await unused_rights.needed_codes(connection)
    covered = await asyncio.to_thread(_covered, given, needed)
    return RoleUses(recorded, _since(given), covered)


def _covered(given: Sequence[GivenCode], needed: Iterable[str]) -> dict[int, set[str]]:
    """Return the ``needed`` codes that each role gives, by its id."""
    roles_with_code: defaultdict[str, set[int]] = defaultdict(set)
    for each in given:
        roles_with_code[each.code].add(each.role_id)
    granting = Granting(roles_with_code)
    covered: dict[int, set[str]] = {each.role_id: set() for each in given}
    for code in needed:
        for role in set[int]().union(*(roles_with_code[held] for held in granting.of(code))):
            covered[role].add(code)
    return covered


def answer(stored: StoredUse, policy: Policy, lines: Iterable[bytes], *, all_kept: bool) -> Unused:
    """Return the answer; ``lines`` come from the decision logs, complete ones if ``all_kept``.

    A large log takes a while.
    """
    logged = read_log(policy, lines, stored.rights.since) if stored.is_observed else Logged()
    whole = all_kept and logged.is_whole(stored.rights.since)
    return Unused(
        since=stored.rights.since,
        days=(first_day(1) - stored.rights.since).days + 1,
        recorded_since=stored.recorded_since,
        is_observed=stored.is_observed,
        checked_by="replay" if whole else "use",
        assignments=stored.assignments,
        codes=tuple(stored.rights.unused_codes()),
        keys=stored.keys,
        scopes=stored.scopes,
        roles=tuple(stored.rights.smaller_roles(logged, whole=whole)),
    )
