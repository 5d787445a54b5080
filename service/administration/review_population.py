"""Which assignments a review asks about, what each opens, what is proposed, and who may decide."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any, Final, Literal

from service.authz.engine.policy import Policy
from service.authz.engine.rules import RESOURCE, REVIEW, Rule
from service.authz.invariants.statements import Apart, EndsWithin, Invariants, OnlyRoles
from service.authz.publishing.derive import covered_by
from service.errors import ValidationFailed
from service.kernel.codes import HeldCodes, is_code
from service.kernel.request_objects import assignment_for
from service.kernel.services import split_object
from service.records import last_use, reviews, role_holdings, role_rights
from service.records.assignments import Present
from service.records.database.transactions import Connection
from service.records.reviews import Finding, NewItem, Subject

MOST_ITEMS: Final = 20_000
"""The most assignments that one review asks about."""
UNUSED_DAYS: Final = 90
"""The days after which an assignment without use is proposed to be revoked, unless a scope names others."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """What a review asks about; ``roles`` has what each role opens, and its statements, by role code."""

    roles: dict[str, dict[str, list[str]]]
    items: list[NewItem]


@dataclass(frozen=True, slots=True)
class Reviewers:
    """Who decides in a review: holders of its ``code``, None for the usual one; of ``ids`` alone if given."""

    ids: Collection[int] | None
    code: str | None

    async def names(self, connection: Connection, policy: Policy, at: datetime) -> frozenset[str]:
        """Return the names of two persons who may decide, or of all if these are fewer."""
        holdings = await role_holdings.read(connection, Present(at))
        name = assignment_for("others", self.code)
        # A code that no review had before gets its line when the review is there.
        asked = policy if self.code is None else Policy(policy.model_text, [Rule(REVIEW, name, self.code)])

        def decides(codes: Collection[str]) -> bool:
            return asked.judge(REVIEW, name, HeldCodes(codes)).allowed

        if self.ids is not None:
            chosen = await role_rights.active_users(connection, self.ids, at)
            persons = (each for each in chosen if each.kind == "person")
            return frozenset(each.user_name for each in persons if decides(each.permissions))
        given = holdings.codes
        sets = [
            roles
            for roles in holdings.persons
            if decides({code for role in roles for code in given.get(role, ())})
        ]
        if not sets:
            return frozenset()
        page = await role_holdings.holders(
            connection, sets, list(holdings.users), page=1, size=2, kind="person", at=Present(at)
        )
        return frozenset(each.user_name for each in page.items)


async def draw(
    connection: Connection,
    policy: Policy,
    invariants: Invariants,
    scope: Mapping[str, Any],
    *,
    names: Collection[str],
    at: datetime,
) -> Drawn:
    """Return the assignments of ``scope`` as they are at ``at``; ``names`` are of ``Reviewers.names``.

    ValidationFailed for a scope without any, or with more than ``MOST_ITEMS``.
    """
    subjects = await reviews.subjects(
        connection,
        at,
        role_ids=scope.get("roleIds"),
        user_ids=scope.get("userIds"),
        endless=True if scope.get("endless") else None,
        most=MOST_ITEMS + 1,
    )
    given = await role_holdings.read_codes(connection)
    of_subjects = {code: given.get(code, ()) for code in dict.fromkeys(each.role_code for each in subjects)}
    opened = _opening(policy, scope, of_subjects)
    subjects = [each for each in subjects if each.role_code in opened]
    used = await last_use.last_used(connection, subjects)
    since = await last_use.recorded_since(connection)
    days = scope.get("unusedDays")
    before = at.date() - timedelta(days=days or UNUSED_DAYS)
    grounds = {each.id: _ground(each, used[each.id], since, before) for each in subjects}
    if days is not None:
        subjects = [each for each in subjects if grounds[each.id] == "unused"]
    if not subjects:
        raise ValidationFailed(("scope", "There is no such assignment"))
    if len(subjects) > MOST_ITEMS:
        raise ValidationFailed(("scope", f"It has more than {MOST_ITEMS} assignments: narrow it"))
    last = await role_rights.administrators(connection, 2)
    items = [
        _item(each, used[each.id], grounds[each.id], _finding(each, opened[each.role_code], names, last))
        for each in subjects
    ]
    kept = {each.role_code for each in subjects}
    statements = _statements(policy, invariants, {role: opened[role] for role in kept})
    roles = {role: {"opens": [*opened[role]], "statements": statements[role]} for role in sorted(kept)}
    return Drawn(roles, items)


def _opening(
    policy: Policy, scope: Mapping[str, Any], opened: Mapping[str, Sequence[str]]
) -> dict[str, Sequence[str]]:
    """Return those roles that give a code, or open a resource of a service, that a scope names."""
    codes = {*scope.get("codes", ())}
    for name in policy.rules.objects(RESOURCE) if scope.get("services") else ():
        if split_object(name)[0] in scope["services"]:
            codes.update(filter(is_code, policy.rules.codes(RESOURCE, name)))
    if "codes" not in scope and "services" not in scope:
        return dict(opened)
    covered, asked = covered_by(policy.model_text), sorted(codes)
    return {role: given for role, given in opened.items() if asked and covered(given, asked)}


def _statements(
    policy: Policy, invariants: Invariants, opened: Mapping[str, Sequence[str]]
) -> dict[str, list[str]]:
    """Return the names of the statements that each role takes part in: they name it, or a code of it."""
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


def _ground(subject: Subject, used: date | None, since: date | None, before: date) -> str:
    if subject.source == "directory":
        return "directory"
    if not subject.user_enabled:
        return "user_disabled"
    if since is None:
        return "use_not_recorded"
    if used is not None:
        return "used" if used >= before else "unused"
    known = max(since, subject.given_time.date()) if subject.given_time else since
    return "unused" if known <= before else "new"


_PROPOSALS: Final[Mapping[str, Literal["keep", "revoke"] | None]] = {
    "directory": "keep",
    "user_disabled": "revoke",
    "use_not_recorded": None,
    "used": "keep",
    "unused": "revoke",
    "new": "keep",
}
"""What is proposed on each ground; None for nothing."""


def _finding(
    subject: Subject, codes: Sequence[str], names: Collection[str], last: Sequence[int]
) -> Finding | None:
    if subject.source == "directory":
        return "directory"
    if "*" in codes and last == [subject.user_id]:
        return "last_administrator"
    return undecidable(subject.user_name, names)


def undecidable(user_name: str, names: Collection[str]) -> Finding | None:
    """Return the finding about an assignment of a user if nobody else is among who may decide."""
    return None if {*names} - {user_name} else "no_reviewer"


def _item(subject: Subject, used: date | None, ground: str, finding: Finding | None) -> NewItem:
    return NewItem(
        user_id=subject.user_id,
        user_name=subject.user_name,
        role_id=subject.role_id,
        role_code=subject.role_code,
        assignment_id=subject.id,
        valid_from=subject.valid_from,
        valid_until=subject.valid_until,
        reason=subject.reason,
        source=subject.source,
        given_time=subject.given_time,
        given_by=subject.given_by,
        request_id=subject.request_id,
        last_used=used,
        proposal=_PROPOSALS[ground],
        ground=ground,
        finding=finding,
    )
