"""Roles granted by directories, by their mapping and within their ceiling.

A directory is a provider of OpenID Connect, or a client that provisions accounts by SCIM. The layer ``grant``
decides about each granted role, with the ceiling as the caller. An attacker in the directory can thus grant
nothing else. A directory cannot edit users who hold more rights from other sources.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final

import structlog

from service.administration import change_log
from service.administration.accounts import Accounts
from service.administration.delegation import DelegationCheck
from service.administration.events import ACCOUNT_LEAVES, Leaving
from service.administration.lasting import FOR_GOOD
from service.administration.older_nodes import require_known
from service.administration.role_demands import require_demands
from service.administration.unit_of_work import RightsUnits, Saved, UnitOfWork
from service.authn.revocations import Revocations
from service.authz.engine.policy import Decision
from service.errors import Conflict, NotFound, PermissionDenied, ValidationFailed
from service.features.directories import store as directories
from service.features.directories import store_sign_ins as sign_ins
from service.features.directories.managed import managed_by, target_of
from service.features.directories.schema import Directory, DirectoryValues, SignedIn
from service.features.directories.sentences import sentence
from service.features.directories.store import Assigned
from service.kernel.clock import from_seconds, whole_milliseconds
from service.kernel.coded_sentences import Sentence
from service.kernel.identity import Target
from service.kernel.notify import Notices
from service.kernel.origin import field_changes, values_change
from service.kernel.write import Write
from service.records import accounts, assignments, menus, roles, user_list
from service.records.assignments import Given
from service.records.database.transactions import Connection, Database
from service.records.published.policy_workers import WINDOWS
from service.records.roles import Role
from service.records.user_list import User

MOST_GROUPS: Final = 1000
"""Maximum number of groups in a mapping; users can be in any number of groups."""
MAX_GROUP: Final = 254
"""Maximum characters of a group name in a mapping."""
_MILLISECOND: Final = timedelta(milliseconds=1)
_BEYOND: Final = sentence("role_above_ceiling")
_ABOVE: Final = sentence("user_above_ceiling")

_log = structlog.get_logger(__name__)

Match = Callable[[Directory | None], None]
"""Raises ``PreconditionFailed`` if the directory has changed since the caller read it; None if missing."""


@dataclass(slots=True)
class Outcome:
    """Result for the roles of a user: the codes of granted, renewed, ended and denied roles.

    ``denied`` has, by role, the decision of the ceiling that denied it. ``unknown`` are roles of the mapping
    that no longer exist.
    """

    given: list[str] = field(default_factory=list)
    renewed: list[str] = field(default_factory=list)
    ended: list[str] = field(default_factory=list)
    denied: dict[str, Decision] = field(default_factory=dict)
    unknown: list[str] = field(default_factory=list)


_WITHIN: Final = 60.0
"""Maximum seconds to end the assignments of all members."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Directories:
    """Stores the mappings and ceilings of directories, and applies their data to users.

    ``clock`` returns the session store's time in seconds. Changes of users are made within units that the
    caller has begun.
    """

    units: RightsUnits
    accounts: Accounts
    revocations: Revocations
    notices: Notices
    clock: Callable[[], float]
    providers: Collection[str]
    """The providers in the settings."""

    off: Collection[str] = ()
    """The kinds of disabled features."""

    def now(self) -> datetime:
        """Return the time by which assignments start and expire, rounded down to whole milliseconds."""
        return whole_milliseconds(from_seconds(self.clock()))

    async def put(self, write: Write, name: str, values: DirectoryValues, match: Match) -> Saved[Directory]:
        """Create or replace a directory.

        Assignments of the directory that it could no longer grant end at once. A job (``directory_members``)
        assigns the members' roles again.

        - ``PermissionDenied``: the caller may not grant each code of the old and new ceiling.
        - ``ValidationFailed``: the named field is invalid.
        - ``Conflict``: the client provisions for another directory.
        """
        async with self.units.of_rights(write, within=_WITHIN, pace="bulk") as unit:
            before = await self._for_change(unit, name, match)
            await _require_known(unit.connection, values.ceiling)
            why = sentence("ceiling_not_held")
            await unit.check.require(before.ceiling if before else (), why)
            await unit.check.require(values.ceiling, why, until=FOR_GOOD)
            self._require_name(name, values, before)
            self._require_served(values)
            await _require_good(unit, name, values, before)
            saved = await directories.put(unit.connection, name, values)
            kept = await directories.role_ids(unit.connection, _roles_of(values))
            allowed = {
                role_id
                for role_id in kept.values()
                if not await unit.check.beyond(unit.connection, values.ceiling, [role_id])
            }
            await self._end_others(unit, name, allowed)
            unit.changes += field_changes(target_of(name), _shown(before), _shown(saved))
        return Saved(saved)

    async def delete(self, write: Write, name: str, match: Match) -> Saved[None]:
        """Delete a directory, and end its assignments; raises ``NotFound``, and as ``put``."""
        async with self.units.of_rights(write, within=_WITHIN, pace="bulk") as unit:
            before = await self._for_change(unit, name, match)
            if before is None:
                raise NotFound(sentence("no_such_directory"))
            await unit.check.require(before.ceiling, sentence("ceiling_not_held"))
            await self._end_others(unit, name, ())
            await directories.delete(unit.connection, name)
            unit.changes += field_changes(target_of(name), _shown(before), {})
        return Saved(None)

    async def follow(
        self,
        unit: UnitOfWork,
        source: str,
        groups: Mapping[int, Collection[str]],
        *,
        until: datetime | None = None,
        since: datetime | None = None,
        strict: bool = False,
    ) -> dict[int, Outcome]:
        """Grant, renew and end roles of users, by id, to match their ``groups``, until ``until``.

        ``until`` is None without expiry. ``since`` is the time at which the groups were reported, None for
        now. A role with a maximum duration expires that long after ``since``, and is not granted without
        ``until``. Invariants are checked for all users at once.

        Roles beyond the ceiling are omitted. Users with more rights from other sources get no role, but still
        lose roles that these groups do not grant. Both are logged. Raises ``NotFound`` for a user unknown to
        the directory, and ``Conflict`` for a disabled directory.
        """
        connection, now = unit.connection, self.now()
        stored = await self._enabled(connection, source)
        if groups.keys() - await directories.known(connection, source, groups):
            raise _unknown_user()
        unit.check.directory = source
        check = unit.check.of_ceiling(stored.ceiling if stored else ())
        if until is not None:
            await require_known(connection, WINDOWS)
        mapping = stored.mapping if stored else {}
        codes = {
            user_id: {code for group in listed for code in mapping.get(group, ())}
            for user_id, listed in groups.items()
        }
        ids = await directories.role_ids(connection, set().union(*codes.values()))
        above = await self._above(connection, check, source, groups, strict=strict)
        denied = await self._denied(connection, check, source, ids, strict=strict)
        due_roles = {
            code: _by_role(await roles.read(connection, ids[code]), source, until, since or now)
            for code in sorted(ids.keys() - denied.keys())
        }
        given = {
            code: each for code, each in due_roles.items() if each is not None and _is_unexpired(each, now)
        }
        held = await directories.assigned(connection, source, groups, now)
        outcomes: dict[int, Outcome] = {}
        new: dict[str, list[int]] = {}
        ended: list[int] = []
        for user_id, due in codes.items():
            has = {each.role_code: each for each in held.get(user_id, ())}
            outcome = outcomes[user_id] = Outcome(unknown=sorted(due - ids.keys()))
            outcome.denied = {code: denied[code] for code in sorted(due & denied.keys())}
            for code in due & due_roles.keys() - given.keys():  # roles that expire by themselves are kept
                has.pop(code, None)
            for code in sorted(due & given.keys()):
                if (before := has.pop(code, None)) is not None:
                    if before.valid_until != given[code].valid_until and user_id not in above:
                        await self._renew(unit, unit.check.provisioned(user_id), before, given[code])
                        outcome.renewed.append(code)
                elif user_id not in above:
                    new.setdefault(code, []).append(user_id)
                    outcome.given.append(code)
            ended += (each.id for each in has.values())
            outcome.ended = sorted(has)
        await assignments.revoke_all(connection, ended, now)
        for code, user_ids in new.items():
            require_demands(await roles.read(connection, given[code].role_id), given[code], now)
            await self._give(unit, user_ids, given[code], now)
        await self._changed(unit, outcomes)
        return outcomes

    async def _above(
        self,
        connection: Connection,
        check: DelegationCheck,
        source: str,
        user_ids: Collection[int],
        *,
        strict: bool,
    ) -> set[int]:
        """Return the users whose roles from other sources exceed the ceiling."""
        beside = await directories.roles_from_other_sources(connection, source, user_ids)
        over: dict[int, Decision] = {}
        for role_id in sorted(set().union(*beside.values())):
            if (
                denial := await self._denial(connection, check, [role_id], _ABOVE, strict=strict)
            ) is not None:
                over[role_id] = denial
        above = {user_id for user_id, role_ids in beside.items() if role_ids & over.keys()}
        for user_id in sorted(above):
            _log.warning(
                "a user above the ceiling got no role of a group",
                event_type="security",
                directory=source,
                login_id=str(user_id),
                decision_id=over[min(beside[user_id] & over.keys())].id,
            )
        return above

    async def _denied(
        self,
        connection: Connection,
        check: DelegationCheck,
        source: str,
        ids: Mapping[str, int],
        *,
        strict: bool,
    ) -> dict[str, Decision]:
        """Return the roles, of these by code, that the directory may not grant."""
        denied = {}
        for code in sorted(ids):
            denial = await self._denial(connection, check, [ids[code]], _BEYOND, strict=strict)
            if denial is not None:
                denied[code] = denial
                _log.warning(
                    "a directory may not hand out a role",
                    event_type="security",
                    directory=source,
                    role=code,
                    decision_id=denial.id,
                )
        return denied

    async def take_back(self, unit: UnitOfWork, source: str, user_id: int) -> None:
        """End the roles that the directory granted to a user known to it."""
        await self._known(unit, source, user_id)
        now = self.now()
        held = (await directories.assigned(unit.connection, source, [user_id], now)).get(user_id, ())
        await assignments.revoke_all(unit.connection, [each.id for each in held], now)
        await self._changed(unit, {user_id: Outcome(ended=sorted(each.role_code for each in held))})

    async def deprovision(self, unit: UnitOfWork, source: str, user_id: int) -> User:
        """Disable a user known to the directory, regardless of the user's rights; sessions end, rows remain.

        Raises ``NotFound``, and ``Conflict`` if no administrator would remain or the directory is disabled.
        """
        await self._enabled(unit.connection, source)
        target = await self._known(unit, source, user_id)
        user = await user_list.read(unit.connection, user_id)
        change_log.concerns(change_log.user_target(user.user_name))
        unit.check.directory = source
        if user.status == "disabled":
            unit.follow_ups.append(partial(self.revocations.settle, target))
            unit.leaving.add(user_id)
            return user
        by = unit.caller.user_name
        leaving = Leaving(user_id, "Its author was disabled", self.now(), by, unit.changes)
        await ACCOUNT_LEAVES.emit(unit.connection, leaving)
        return await self.accounts.change_status(unit, target, user, "disabled")

    async def editing(
        self, unit: UnitOfWork, source: str, user_id: int, stored: Directory | None = None
    ) -> tuple[Target, DelegationCheck]:
        """Return a user whom the directory may edit, and the check of its ceiling.

        Its own assignments do not count, because it may always revoke them. Raises as ``follow`` does, and
        ``PermissionDenied``.
        """
        stored = stored or await self._enabled(unit.connection, source)
        target = await self._known(unit, source, user_id)
        unit.check.directory = source
        check = unit.check.of_ceiling(stored.ceiling if stored else ())
        beside = await directories.roles_from_other_sources(unit.connection, source, [user_id])
        await check.require_roles(unit.connection, beside.get(user_id, ()), _ABOVE)
        return target, check

    async def _known(self, unit: UnitOfWork, source: str, user_id: int) -> Target:
        if not await directories.known(unit.connection, source, [user_id]):
            raise _unknown_user()
        return unit.check.provisioned(user_id)

    async def _enabled(self, connection: Connection, source: str) -> Directory | None:
        """Return the stored directory; None for a provider without a mapping, which grants nothing."""
        stored = await directories.named(connection, source)
        if stored is not None and not stored.enabled:
            raise managed_by(source, sentence("directory_cut_off", directory=source))
        return stored

    @staticmethod
    async def _denial(
        connection: Connection, check: DelegationCheck, role_ids: list[int], why: Sentence, *, strict: bool
    ) -> Decision | None:
        if strict:
            await check.require_roles(connection, role_ids, why)
            return None
        try:
            with check.tentatively():
                await check.require_roles(connection, role_ids, why)
        except PermissionDenied as refusal:
            if not isinstance(refusal.decision, Decision):
                raise
            return refusal.decision
        return None

    @staticmethod
    async def _give(unit: UnitOfWork, user_ids: Collection[int], new: Given, now: datetime) -> None:
        while user_ids:
            await assignments.give_each(unit.connection, user_ids, new)
            # Another directory granted the same interval, and role and interval are unique per user.
            user_ids = await assignments.lacking(unit.connection, user_ids, new)
            new = replace(new, valid_from=(new.valid_from or now) - _MILLISECOND)

    async def _renew(self, unit: UnitOfWork, target: Target, before: Assigned, new: Given) -> None:
        """Set the expiry of an assignment to that of ``new``, or replace it if its duration is limited."""
        now = self.now()
        role = await roles.read(unit.connection, new.role_id)
        if role.max_duration is not None:
            await assignments.revoke(unit.connection, target, before.id, now)
            await self._give(unit, [target.user_id], replace(new, valid_from=now), now)
            return
        renewed = replace(new, valid_from=before.valid_from)
        while await assignments.identical(unit.connection, target, renewed, before.id):
            renewed = replace(renewed, valid_from=(renewed.valid_from or now) - _MILLISECOND)
        await assignments.change(unit.connection, target, before.id, renewed)

    async def _changed(self, unit: UnitOfWork, outcomes: Mapping[int, Outcome]) -> None:
        """Log the changes, notify the users, and refresh older tokens, which carry role expiries."""
        alike: dict[tuple[tuple[str, ...], tuple[str, ...]], list[int]] = {}
        for user_id, outcome in outcomes.items():
            if outcome.given or outcome.ended:
                key = tuple(outcome.given), tuple(outcome.ended)
                alike.setdefault(key, []).append(user_id)
            elif outcome.renewed:
                unit.refreshing.add(user_id)
        changed = [user_id for user_ids in alike.values() for user_id in user_ids]
        unit.refreshing.update(changed)
        names = await accounts.names(unit.connection, changed)
        await accounts.raise_versions(unit.connection, changed)
        for (given, ended), user_ids in alike.items():
            for user_id in user_ids:
                name = change_log.user_target(names[user_id])
                unit.changes += values_change(name, "roles", ended, given)
            facts: dict[str, Any] = {"givenRoles": [*given] or None, "takenRoles": [*ended] or None}
            await self.notices.notify_each(unit.connection, user_ids, "roles_changed", "administrator", facts)

    def _require_name(self, name: str, values: DirectoryValues, before: Directory | None) -> None:
        """Raise ValidationFailed if a provisioning directory would share its name and roles with a provider.

        A directory that is older than the provider can still be disabled.
        """
        if values.kind == "scim" and name in self.providers and (before is None or values.enabled):
            raise ValidationFailed(("source", sentence("source_is_provider")))

    def _require_served(self, values: DirectoryValues) -> None:
        """Raise ValidationFailed for an enabled directory whose feature is off; the next start would fail."""
        if values.enabled and values.kind in self.off:
            fault = sentence("directory_feature_off", kind=values.kind)
            raise ValidationFailed(("enabled", fault))

    async def _for_change(self, unit: UnitOfWork, name: str, match: Match) -> Directory | None:
        change_log.concerns(target_of(name))
        before = await directories.named(unit.connection, name)
        match(before)
        return before

    async def _end_others(self, unit: UnitOfWork, name: str, kept: Collection[int]) -> None:
        """End the assignments of a directory, except the roles ``kept``."""
        ended = await assignments.revoke_of_directory(unit.connection, name, kept, self.now())
        if ended:
            await accounts.raise_versions(unit.connection, ended)
            unit.refreshing.update(ended)
            unit.changes += values_change(target_of(name), "usersWhoseRolesEnd", [str(len(ended))], [])


async def _require_known(connection: Connection, ceiling: Collection[str]) -> None:
    stored = {button.auth_mark for button in await menus.button_codes(connection)}
    faults = [
        (f"ceiling[{place}]", sentence("no_button_with_code"))
        for place, code in enumerate(ceiling)
        if code not in stored
    ]
    if faults:
        raise ValidationFailed(*faults)


async def _require_good(
    unit: UnitOfWork, name: str, values: DirectoryValues, before: Directory | None
) -> None:
    ids = await directories.role_ids(unit.connection, _roles_of(values))
    faults = [
        (f"mapping[{place}].roles[{number}]", fault)
        for place, codes in enumerate(values.mapping.values())
        for number, code in enumerate(codes)
        if (fault := await _fault_of_role(unit, values, ids.get(code)))
    ]
    if before is not None and before.kind != values.kind:
        faults.append(("kind", sentence("unchangeable")))
    if (values.kind == "scim") != (values.client_id is not None):
        faults.append(("client", sentence("client_required")))
    if faults:
        raise ValidationFailed(*faults)
    if values.client_id is not None:
        other = await directories.of_client(unit.connection, values.client_id)
        if other is not None and other.name != name:
            raise Conflict(sentence("client_taken"), rule="unique")


async def _fault_of_role(unit: UnitOfWork, values: DirectoryValues, role_id: int | None) -> Sentence | None:
    """Return the reason why a directory may not grant a role; None if it may."""
    if role_id is None:
        return sentence("no_such_role")
    if values.kind == "scim" and (await roles.read(unit.connection, role_id)).max_duration:
        return sentence("role_with_longest_duration")
    if lacking := await unit.check.beyond(unit.connection, values.ceiling, [role_id]):
        return sentence("code_above_ceiling", code=lacking[0])
    return None


def _by_role(role: Role, source: str, until: datetime | None, since: datetime) -> Given | None:
    """Return the assignment of a role by a directory, limited to the role's maximum duration.

    Returns None for such a role without an expiry, because nothing would renew it.
    """
    if role.max_duration is not None:
        if until is None:
            return None
        until = min(until, since + timedelta(seconds=role.max_duration))
    return Given(role.id, None, until, f"By the directory {source}", "directory", source)


def _is_unexpired(given: Given, now: datetime) -> bool:
    return given.valid_until is None or given.valid_until > now


def _unknown_user() -> NotFound:
    return NotFound(sentence("user_of_other_directory"))


def _roles_of(values: DirectoryValues) -> set[str]:
    return {code for codes in values.mapping.values() for code in codes}


def _shown(stored: Directory | None) -> dict[str, Any]:
    """Return a directory in the form of the operation log."""
    if stored is None:
        return {}
    mapping = {f"{group}: {code}" for group, codes in stored.mapping.items() for code in codes}
    return {
        "kind": stored.kind,
        "client": stored.client,
        "enabled": stored.enabled,
        "ceiling": frozenset(stored.ceiling),
        "mapping": frozenset(mapping),
    }


async def read(database: Database, name: str) -> Directory:
    """Return a directory; raises ``NotFound`` without one."""
    async with database.snapshot() as connection:
        stored = await directories.named(connection, name)
    if stored is None:
        raise NotFound(sentence("no_such_directory"))
    return stored


async def cut_off(
    unit: UnitOfWork, name: str, *, roles: bool, known: bool
) -> tuple[Directory, list[SignedIn]]:
    """Disable a directory; return it, and the sign-ins whose sessions must end after the commit.

    ``roles``: also end its assignments. ``known``: the settings have a provider of that name, which need not
    be stored. Sources with linked accounts need not be stored either. Raises ``NotFound``.
    """
    before = await directories.named(unit.connection, name)
    if before is None and not known and not await directories.has_linked_accounts(unit.connection, name):
        raise NotFound(sentence("no_such_directory"))
    kept = before or DirectoryValues(kind="oidc", client_id=None, mapping={}, ceiling=())
    values = DirectoryValues(
        kind=kept.kind,
        client_id=kept.client_id,
        mapping=kept.mapping,
        ceiling=kept.ceiling,
        enabled=False,
    )
    saved = await directories.put(unit.connection, name, values)
    unit.changes += field_changes(target_of(name), _shown(before), _shown(saved))
    if roles:
        at = await assignments.now(unit.connection)
        ended = await assignments.revoke_of_directory(unit.connection, name, (), at)
        await accounts.raise_versions(unit.connection, ended)
        unit.refreshing.update(ended)
    return saved, await sign_ins.end(unit.connection, name)
