"""Which rights nobody has needed, and for each role a smaller set of codes that would have done.

What a decision has needed is the code of the line that allowed it. It counts for each role of the user that
gives it: of two roles with one code neither is unused, and each is made smaller by itself.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Final, Literal, TypeAlias

from service.audit.decision_event import DecisionEvent, event_in
from service.authz.engine.policy import Policy
from service.authz.engine.predicates import HOLDING
from service.authz.engine.rules import ASSURANCE
from service.authz.review.asked_again import as_of, asked_again
from service.kernel.codes import HeldCodes
from service.records import permission_uses, unused_rights
from service.records.assignment_list import Assignment
from service.records.database.paging import Page
from service.records.database.transactions import Connection
from service.records.unused_rights import GivenCode, RoleUse, Unneeded, UnusedKey

DAYS: Final = 90
"""The usual days of a question."""
MOST_DAYS: Final = 730

CheckedBy: TypeAlias = Literal["replay", "use"]
"""Whether smaller roles follow from logged decisions that were made again, or from use alone."""
Question: TypeAlias = frozenset[str]
"""The codes any one of which opens what a decision was about."""


def grants(held: HeldCodes, code: str) -> bool:
    """Tell whether one of the ``held`` codes lets a line with ``code`` pass."""
    return any(holds(held, code) for holds in HOLDING.values())


@dataclass(slots=True)
class Logged:
    """What a decision log tells of allowed decisions: by role the codes that were needed, with questions.

    ``begin`` is the time of its first event; ``days`` are the last days of the codes, by role.
    """

    begin: datetime | None = None
    questions: dict[str, dict[str, set[Question]]] = field(default_factory=dict)
    days: dict[tuple[str, str], date] = field(default_factory=dict)

    def add(self, roles: Iterable[str], code: str, question: Question, day: date) -> None:
        """Add a decision that a holder of ``roles`` has needed ``code`` for."""
        for role in roles:
            self.questions.setdefault(role, {}).setdefault(code, set()).add(question)
            self.days[role, code] = max(day, self.days.get((role, code), day))

    def is_whole(self, since: date) -> bool:
        """Tell whether it goes back to the beginning of a day."""
        return self.begin is not None and self.begin.date() < since


def read_log(policy: Policy, lines: Iterable[bytes], since: date) -> Logged:
    """Return what a log, or several one after the other, tells of the decisions since a day.

    Each is made again by ``policy``. What it denies today is left out: so are lines that are no events.
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


@dataclass(frozen=True, slots=True)
class SmallerRole:
    """A role with the codes that it gives, and fewer or narrower ones that would have done.

    ``recent`` are codes among both that the role has not given for the whole time.
    """

    role_id: int
    role_code: str
    codes: tuple[str, ...]
    proposed: tuple[str, ...]
    recent: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Rights:
    """What roles give, the codes of all Buttons, and what holders of each role have needed since a day."""

    since: date
    given: tuple[GivenCode, ...]
    buttons: Collection[str]
    uses: tuple[RoleUse, ...]

    def held_by_role(self) -> dict[int, HeldCodes]:
        """Return what each role gives, by its id."""
        return {role: HeldCodes(each.code for each in given) for role, given in self._by_role().items()}

    def covered(self) -> dict[int, set[str]]:
        """Return which of the codes that were needed each role gives, by its id; every role is in it."""
        held = self.held_by_role()
        covered: dict[int, set[str]] = {role: set() for role in held}
        for use in self.uses:
            if use.role_id in held and grants(held[use.role_id], use.code):
                covered[use.role_id].add(use.code)
        return covered

    def unused_codes(self) -> list[GivenCode]:
        """Return the codes that roles have given for the whole time, and no holder has needed."""
        used = self.covered()
        return [
            each
            for each in self.given
            if not self._is_recent(each)
            and not any(grants(HeldCodes([each.code]), code) for code in used[each.role_id])
        ]

    def smaller_roles(self, logged: Logged, *, whole: bool) -> list[SmallerRole]:
        """Return the roles that could give less.

        With a ``whole`` log a code is left out where another one opens all that it was needed for; else
        whatever was needed stays.
        """
        covered, smaller = self.covered(), []
        last = {(use.role_id, use.code): use.day for use in self.uses}
        for role_id, given in self._by_role().items():
            role_code, codes = given[0].role_code, tuple(each.code for each in given)
            recent = tuple(each.code for each in given if self._is_recent(each))
            questions = {frozenset([code]) for code in covered[role_id]}
            shown = {
                code: known
                for code, known in logged.questions.get(role_code, {}).items()
                if grants(HeldCodes(codes), code)
            }
            for code, known in shown.items():
                day = last.get((role_id, code))
                if whole and (day is None or day <= logged.days[role_code, code]):
                    questions.discard(frozenset([code]))
                    questions |= known
                else:
                    questions.add(frozenset([code]))
            least = least_codes(codes, self.buttons, {*covered[role_id], *shown}, questions, keeping=recent)
            if least != set(codes):
                smaller.append(SmallerRole(role_id, role_code, codes, tuple(sorted(least)), recent))
        return smaller

    def _is_recent(self, given: GivenCode) -> bool:
        return not _is_before(given.begin_time, self.since)

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
    """Return codes by which a role still answers all ``questions``, and none of which can be left out.

    The role gives ``codes``. Of a wildcard what was ``needed`` of it is taken where a Button has that code,
    or else the narrowest of ``codes`` that grants it. ``keeping`` stays in any case.
    """
    by_width = sorted(codes, key=lambda code: (code.count("*"), -code.count(":"), code))
    chosen = {*keeping}
    for code in needed:
        if code in buttons:
            chosen.add(code)
        else:
            chosen.add(next(each for each in by_width if grants(HeldCodes([each]), code)))

    # The widest first: what opens more than was needed goes if the rest is enough.
    for code in sorted(
        chosen.difference(keeping), key=lambda code: (-code.count("*"), code.count(":"), code)
    ):
        rest = HeldCodes(chosen - {code})
        if all(any(grants(rest, each) for each in question) for question in questions):
            chosen.discard(code)
    return chosen


@dataclass(frozen=True, slots=True)
class Unused:
    """What was not used since the day ``since``, in the last ``days`` days.

    ``recorded_since`` is since when uses are recorded, None for not at all. Where that is later than what was
    asked for, ``since`` is the first day that was watched whole. Without such a day, ``is_observed`` is
    false, and nothing is said to be unused.
    """

    since: date
    days: int
    recorded_since: datetime | None
    is_observed: bool
    checked_by: CheckedBy
    assignments: Page[Assignment]
    codes: tuple[GivenCode, ...]
    keys: Page[UnusedKey]
    roles: tuple[SmallerRole, ...]


@dataclass(frozen=True, slots=True)
class StoredUse:
    """What was read: the rights, since when uses are recorded, and pages of assignments and keys."""

    rights: Rights
    recorded_since: datetime | None
    is_observed: bool
    assignments: Page[Assignment]
    keys: Page[UnusedKey]


def first_day(days: int, at: datetime | None = None) -> date:
    """Return the first of the last ``days`` days of UTC, today among them; ``at`` is an instant of today."""
    return (at or datetime.now(UTC)).astimezone(UTC).date() - timedelta(days=days - 1)


async def read_unused(connection: Connection, days: int, *, page: int = 1, size: int = 20) -> StoredUse:
    """Return what was not used in the last ``days`` days, or in those of them that were watched whole."""
    recorded = await permission_uses.recorded_since(connection)
    since = first_day(days)
    if recorded is not None:
        since = max(since, recorded.astimezone(UTC).date() + timedelta(days=1))
    if not _is_before(recorded, first_day(1)):
        nothing = Rights(since, (), (), ())
        return StoredUse(nothing, recorded, False, Page((), 0), Page((), 0))
    given = await unused_rights.given_codes(connection)
    uses = await unused_rights.role_uses(connection, since)
    rights = Rights(since, tuple(given), await unused_rights.button_codes(connection), tuple(uses))
    covered = rights.covered()
    roles = [role for role, begun in _since(given).items() if _is_before(begun, since)]
    part = {"page": page, "size": size}
    unneeded = Unneeded(since, roles, covered)
    assignments = await unused_rights.unused_assignments(connection, unneeded, **part)
    return StoredUse(
        rights, recorded, True, assignments, await unused_rights.unused_keys(connection, since, **part)
    )


def _is_before(begun: datetime | None, since: date) -> bool:
    return begun is not None and begun.astimezone(UTC).date() < since


def _since(given: Iterable[GivenCode]) -> Mapping[int, datetime]:
    """Return since when each role gives something."""
    begun: dict[int, datetime] = {}
    for each in given:
        begun[each.role_id] = min(each.begin_time, begun.get(each.role_id, each.begin_time))
    return begun


@dataclass(frozen=True, slots=True)
class RoleUses:
    """What is recorded of the use of roles.

    ``recorded_since`` is as in ``Unused``; ``begun`` has since when roles give something, and ``covered``
    which of the codes that anybody has needed a role gives, both by its id.
    """

    recorded_since: datetime | None
    begun: Mapping[int, datetime]
    covered: Mapping[int, Collection[str]]

    def unneeded(self, since: date) -> Unneeded:
        """Return which assignments are unused since a day, as in ``Unused``."""
        observed = _is_before(self.recorded_since, since)
        roles = [role for role, begun in self.begun.items() if observed and _is_before(begun, since)]
        return Unneeded(since, roles, self.covered)

    def tells(
        self, role_id: int, begun: datetime | None, last: date | None, since: date
    ) -> Literal["used", "unused", "new", "use_not_recorded"]:
        """Return what is known since a day of an assignment that was needed ``last``.

        ``begun`` is its beginning, None for always. Unused is as in ``Unused``.
        """
        if last is not None and last >= since:
            return "used"
        given = self.begun.get(role_id)
        if given is None or not _is_before(self.recorded_since, since):
            return "use_not_recorded"
        return "unused" if _is_before(given if begun is None else max(given, begun), since) else "new"


async def read_role_uses(connection: Connection) -> RoleUses:
    """Return what is recorded of the use of roles, as far as it is kept."""
    recorded = await permission_uses.recorded_since(connection)
    given = await unused_rights.given_codes(connection)
    needed = await unused_rights.needed_codes(connection)
    uses = Rights(date.min, tuple(given), (), ())
    covered = {
        role: [code for code in needed if grants(held, code)] for role, held in uses.held_by_role().items()
    }
    return RoleUses(recorded, _since(given), covered)


def answer(stored: StoredUse, policy: Policy, lines: Iterable[bytes], *, all_kept: bool) -> Unused:
    """Return the answer; ``lines`` are those of the decision logs, which keep all decisions if ``all_kept``.

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
        roles=tuple(stored.rights.smaller_roles(logged, whole=whole)),
    )
