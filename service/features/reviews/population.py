"""The population of a review: its assignments, the codes of each role, proposals and eligible reviewers."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import cache
from typing import Any, Final, Literal

from service.administration.people import People
from service.authz.engine.policy import Policy
from service.authz.engine.rules import RESOURCE, REVIEW, Rule
from service.authz.publishing.derive import covered_by
from service.errors import ValidationFailed
from service.features.reviews import store as reviews
from service.features.reviews.schema import Finding, NewItem, ReviewedAssignment
from service.features.reviews.sentences import sentence
from service.features.reviews.store import Subject
from service.features.reviews.store_unused import last_uses_of
from service.features.reviews.unused import DAYS, RoleUses, first_day, read_role_uses
from service.kernel.codes import HeldCodes, is_code
from service.kernel.cooperative_yield import CooperativeYield, cooperatively
from service.kernel.fields import values_of
from service.kernel.request_objects import assignment_for
from service.kernel.services import split_object
from service.laboratory.analysis.held_code_index import DecisiveCodes
from service.laboratory.invariants.statements import Apart, EndsWithin, Invariants, OnlyRoles
from service.laboratory.proof.batch_decider import BatchDecider
from service.records import code_holders, role_holdings, role_rights
from service.records.assignments import Present
from service.records.database.transactions import Connection

MOST_NOTIFIED: Final = 100
"""The maximum number of reviewers notified about a review."""
_MOST_ASKED: Final = 1_000  # holders of the reviewer code, or of a wildcard
MOST_ITEMS: Final = 20_000
"""The maximum number of assignments in one review."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """The population of a review; ``roles`` has the codes and statements of each role, by role code."""

    roles: dict[str, dict[str, list[str]]]
    items: list[NewItem]


@dataclass(frozen=True, slots=True)
class Reviewers:
    """The reviewers of a review: holders of ``code`` (None: the default code), of ``ids`` if given."""

    ids: Collection[int] | None
    code: str | None

    async def undecidable(
        self,
        connection: Connection,
        policy: Policy,
        people: People,
        at: datetime,
        user_ids: Collection[int],
    ) -> "Undecidable":
        """Return the users for whom every reviewer counts as the same person as the user."""
        holdings = await role_holdings.read(connection, Present(at))
        name, asked = self._asked(policy)

        @cache
        def decides(codes: frozenset[str]) -> bool:
            return asked.judge(REVIEW, name, HeldCodes(codes)).allowed

        if self.ids is not None:
            chosen = await role_rights.active_users(connection, self.ids, at)
            ids = [
                each.id for each in chosen if each.kind == "person" and decides(frozenset(each.permissions))
            ]
            return await _same_as_all(connection, people, at, ids, user_ids)
        decisive = DecisiveCodes(holdings.codes, asked.rules.codes(REVIEW, name))
        sets = [roles for roles in holdings.persons if decides(decisive.of(roles))]
        known = Undecidable(None)
        # Two reviewers are nearly always enough for the answer.
        for size in (2, max(holdings.number(sets, "person"), 2)) if sets else ():
            page = await role_holdings.holders(
                connection, sets, list(holdings.users), page=1, size=size, kind="person", at=Present(at)
            )
            ids = [each.id for each in page.items]
            known = await _same_as_all(connection, people, at, ids, known.ids or user_ids)
            if not known.ids or page.total <= size:
                break
        return known

    async def notified(self, connection: Connection, policy: Policy, at: datetime) -> list[int]:
        """Return the ids of at most ``MOST_NOTIFIED`` reviewers, by id."""
        name, asked = self._asked(policy)
        held: Iterable[tuple[int, Collection[str]]]
        if self.ids is not None:
            chosen = await role_rights.active_users(connection, self.ids, at)
            held = sorted((each.id, each.permissions) for each in chosen if each.kind == "person")
        else:
            stored = await code_holders.codes_like(connection, asked.rules.codes(REVIEW, name))
            held = await code_holders.holders(connection, stored, at, _MOST_ASKED)
        decider, yielding = BatchDecider(asked), CooperativeYield()
        notified: list[int] = []
        for user_id, codes in held:
            if decider.opens(REVIEW, name, HeldCodes(codes)):
                notified.append(user_id)
                if len(notified) == MOST_NOTIFIED:
                    break
            await yielding.after_item()
        return notified

    def _asked(self, policy: Policy) -> tuple[str, Policy]:
        """Return the object of a decision about assignments of others, and the policy that decides it."""
        name = assignment_for("others", self.code)
        # A new reviewer code gets its line only when the review exists.
        return name, policy if self.code is None else Policy(
            policy.model_text, [Rule(REVIEW, name, self.code)]
        )


@dataclass(frozen=True, slots=True)
class Undecidable:
    """The ids of the users without an eligible reviewer; None stands for all users."""

    ids: Collection[int] | None

    def finding(self, user_id: int) -> Finding | None:
        return "no_reviewer" if self.ids is None or user_id in self.ids else None


async def _same_as_all(
    connection: Connection,
    people: People,
    at: datetime,
    reviewer_ids: Collection[int],
    user_ids: Collection[int],
) -> Undecidable:
    if not reviewer_ids:
        return Undecidable(None)
    # Reviewer and user may be connected only through each other, not through third persons.
    persons = await people.of(connection, (), at, beside=[*reviewer_ids, *user_ids])
    return Undecidable(
        await asyncio.to_thread(
            lambda: {
                user_id
                for user_id in cooperatively(user_ids)
                if all(persons.same(each, user_id) for each in reviewer_ids)
            }
        )
    )


async def draw(
    connection: Connection,
    policy: Policy,
    invariants: Invariants,
    scope: Mapping[str, Any],
    *,
    undecidable: Callable[[Collection[int]], Awaitable[Undecidable]],
    at: datetime,
) -> Drawn:
    """Return the assignments of ``scope`` as of ``at``; ``undecidable`` checks its users' reviewers.

    Raises ValidationFailed for a scope with none, or with more than ``MOST_ITEMS``.
    """
    given = await role_holdings.read_codes(connection)
    uses, days = await read_role_uses(connection), scope.get("unusedDays")
    since = first_day(days or DAYS, at)
    subjects = await reviews.subjects(
        connection,
        at,
        role_ids=scope.get("roleIds"),
        role_codes=_opening(policy, scope, given),
        user_ids=scope.get("userIds"),
        endless=True if scope.get("endless") else None,
        unneeded=None if days is None else uses.unneeded(since),
        most=MOST_ITEMS + 1,
    )
    if not subjects:
        raise ValidationFailed(("scope", sentence("no_such_assignment")))
    if len(subjects) > MOST_ITEMS:
        raise ValidationFailed(("scope", sentence("too_many_assignments", most=MOST_ITEMS)))
    opened = {code: given.get(code, ()) for code in sorted({each.role_code for each in subjects})}
    used = await last_uses_of(connection, uses.covered, [each.id for each in subjects])
    last = await role_rights.administrators(connection, 2)
    nobody = await undecidable({each.user_id for each in subjects})
    items = []
    others = CooperativeYield()
    for each in subjects:
        ground = _ground(each, uses, used.get(each.id), since)
        finding = _finding(each, opened[each.role_code], nobody, last)
        items.append(_item(each, used.get(each.id), ground, finding))
        await others.after_item()
    statements = _statements(policy, invariants, opened)
    roles = {role: {"opens": [*codes], "statements": statements[role]} for role, codes in opened.items()}
    return Drawn(roles, items)


def _opening(
    policy: Policy, scope: Mapping[str, Any], given: Mapping[str, Sequence[str]]
) -> list[str] | None:
    """Return the roles of a scope, by a code or a service's resource that it names; None for all."""
    asked: list[list[str]] = [scope["codes"]] if "codes" in scope else []
    if "services" in scope:
        bound = {
            code
            for name in policy.rules.objects(RESOURCE)
            if split_object(name)[0] in scope["services"]
            for code in policy.rules.codes(RESOURCE, name)
            if is_code(code)
        }
        asked.append(sorted(bound))
    if not asked:
        return None
    covered = covered_by(policy.model_text)
    return [role for role, opens in given.items() if all(codes and covered(opens, codes) for codes in asked)]


def _statements(
    policy: Policy, invariants: Invariants, opened: Mapping[str, Sequence[str]]
) -> dict[str, list[str]]:
    """Return the names of the statements about each role: they name the role, or a code of it."""
    covered = covered_by(policy.model_text)
    named: dict[str, list[str]] = {role: [] for role in opened}
    for statement in invariants.statements:
        if not isinstance(statement, OnlyRoles | Apart | EndsWithin):
            continue
        roles = statement.roles if isinstance(statement, OnlyRoles | EndsWithin) else ()
        codes = statement.codes if isinstance(statement, Apart | EndsWithin) else ()
        for role, given in opened.items():
            if role in roles or (codes and covered(given, codes)):
                named[role].append(statement.name)
    return named


def _ground(subject: Subject, uses: RoleUses, last: date | None, since: date) -> str:
    if subject.source == "directory":
        return "directory"
    if not subject.user_enabled:
        return "user_disabled"
    begun = max(filter(None, (subject.given_time, subject.valid_from)), default=None)
    return uses.use_since(subject.role_id, begun, last, since)


_PROPOSALS: Final[Mapping[str, Literal["keep", "revoke"] | None]] = {
    "directory": "keep",
    "user_disabled": "revoke",
    "use_not_recorded": None,
    "used": "keep",
    "unused": "revoke",
    "new": "keep",
}
"""The proposal for each ground; None for no proposal."""


def _finding(
    subject: Subject, codes: Sequence[str], undecidable: Undecidable, last: Sequence[int]
) -> Finding | None:
    if subject.source == "directory":
        return "directory"
    if "*" in codes and last == [subject.user_id]:
        return "last_administrator"
    return undecidable.finding(subject.user_id)


def _item(subject: Subject, used: date | None, ground: str, finding: Finding | None) -> NewItem:
    return NewItem(
        **values_of(subject, ReviewedAssignment),
        assignment_id=subject.id,
        last_used=used,
        proposal=_PROPOSALS[ground],
        ground=ground,
        finding=finding,
    )
