"""Roles that directories hand out: by their mapping, below their ceiling, and never beyond it.

A directory is a provider of OpenID Connect, or what provisions accounts by SCIM. Each role that it assigns is
asked of the layer ``grant`` with its ceiling as the caller, so that an attacker there can give
nothing else. It edits nobody who holds more by others.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final

import structlog

from service.administration import change_log
from service.administration.accounts import Accounts
from service.administration.delegation import DelegationCheck
from service.administration.managed_accounts import managed_by, target_of
from service.administration.older_nodes import require_known
from service.administration.role_demands import require_demands
from service.administration.unit_of_work import RightsUnits, Saved, UnitOfWork
from service.authn.revocations import Revocations
from service.authz.engine.policy import Decision
from service.errors import Conflict, NotFound, PermissionDenied, ValidationFailed
from service.kernel.clock import from_seconds, whole_milliseconds
from service.kernel.identity import Target
from service.kernel.origin import field_changes, values_change
from service.kernel.write import Write
from service.mail.notices import Notices
from service.records import (
    access_requests,
    accounts,
    assignments,
    directories,
    menus,
    roles,
    schema_revision,
    user_list,
)
from service.records.assignments import Given
from service.records.database.transactions import Connection, Database
from service.records.directories import Assigned, Directory, DirectoryValues, SignedIn
from service.records.policy_workers import WINDOWS
from service.records.user_list import User

MOST_GROUPS: Final = 1000
"""Groups that a mapping has at most; people may be in any number."""
MAX_GROUP: Final = 254
"""Characters of the name of a group in a mapping."""
_MILLISECOND: Final = timedelta(milliseconds=1)
_BEYOND: Final = "The directory may not hand out all that the role gives"
_ABOVE: Final = "The user holds more than the directory may hand out, and is not edited by it"

_log = structlog.get_logger(__name__)

Match = Callable[[Directory | None], None]
"""Raises ``PreconditionFailed`` if the directory has changed since the caller read it; None is none."""


@dataclass(slots=True)
class Outcome:
    """What has become of the roles of a user: the codes of those given, renewed, ended and denied.

    ``denied`` has, by role, the decision that the ceiling does not allow it; ``unknown`` are roles of the
    mapping that are not there any more.
    """

    given: list[str] = field(default_factory=list)
    renewed: list[str] = field(default_factory=list)
    ended: list[str] = field(default_factory=list)
    denied: dict[str, Decision] = field(default_factory=dict)
    unknown: list[str] = field(default_factory=list)


class Directories:
    """Says what directories may hand out, and does what they say. ``now`` is the session store's, in seconds.

    Changes are made within units that the caller has begun.
    """

    def __init__(
        self,
        units: RightsUnits,
        accounts: Accounts,
        revocations: Revocations,
        notices: Notices,
        now: Callable[[], float],
    ) -> None:
        self._units = units
        self._accounts = accounts
        self._revocations = revocations
        self._notices = notices
        self._now = now

    def now(self) -> datetime:
        """Return the instant by which assignments begin and end, in whole milliseconds, rounded down."""
        return whole_milliseconds(from_seconds(self._now()))

    async def put(self, write: Write, name: str, values: DirectoryValues, match: Match) -> Saved[Directory]:
        """Store a directory, in the place of another one.

        What it has assigned and could not assign any more ends. Raises ``PermissionDenied`` unless the caller
        may grant each code of the ceiling, before and after, ``ValidationFailed`` with the field, and
        ``Conflict`` for a client that provisions for another directory.
        """
        async with self._units.of_rights(write) as unit:
            before = await self._for_change(unit, name, match)
            await _require_known(unit.connection, values.ceiling)
            why = "The ceiling has permissions that you do not hold"
            await unit.check.require({*values.ceiling, *(before.ceiling if before else ())}, why)
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
        """Delete a directory, and end all that it has assigned; ``NotFound``, and as ``put``."""
        async with self._units.of_rights(write) as unit:
            before = await self._for_change(unit, name, match)
            if before is None:
                raise NotFound("There is no such directory")
            await unit.check.require(before.ceiling, "The ceiling has permissions that you do not hold")
            await self._end_others(unit, name, ())
            await directories.delete(unit.connection, name)
            unit.changes += field_changes(target_of(name), _shown(before), {})
        return Saved(None)

    async def set_roles(
        self,
        unit: UnitOfWork,
        source: str,
        user_id: int,
        groups: Collection[str],
        *,
        until: datetime | None,
        strict: bool = True,
    ) -> Outcome:
        """Give, renew and end the roles of a user, so that they are those of ``groups``, until then.

        Without an end, ``until`` is None. Raises ``NotFound`` for a user whom the directory does not know,
        ``Conflict`` for a directory that is cut off, and ``PermissionDenied`` for a user who holds more by
        others than the ceiling allows. A role that the ceiling does not allow is refused likewise; unless
        ``strict``, it is left out, and logged.
        """
        stored = await self._enabled(unit.connection, source)
        target, check = await self.editing(unit, source, user_id, stored)
        user = await user_list.read(unit.connection, user_id)
        now = self.now()
        if until is not None:
            await require_known(unit.connection, WINDOWS)
            await schema_revision.require_this_version(unit.connection)
        codes = {code for group in groups for code in (stored.mapping.get(group) or ())} if stored else set()
        ids = await directories.role_ids(unit.connection, codes)
        outcome = Outcome(unknown=sorted(codes - ids.keys()))
        has = {
            each.role_id: each for each in await directories.assigned(unit.connection, source, user_id, now)
        }
        for code in sorted(ids):
            denial = await self._denial(unit.connection, check, ids[code], strict=strict)
            if denial is not None:
                outcome.denied[code] = denial
                _log.warning(
                    "a directory may not hand out a role",
                    event_type="security",
                    directory=source,
                    role=code,
                    login_id=str(user_id),
                    decision_id=denial.id,
                )
                continue
            role = await roles.read(unit.connection, ids[code])
            # With an end of its own where the role asks for one.
            ends = until
            if until is not None and role.max_duration is not None:
                ends = min(until, now + timedelta(seconds=role.max_duration))
            new = Given(role.id, None, ends, f"By the directory {source}", "directory", source)
            if (before := has.pop(role.id, None)) is None:
                require_demands(role, new, now)
                await self._give(unit, target, new, now)
                outcome.given.append(code)
            elif before.valid_until != ends:
                # One that is renewed would last longer than the role allows.
                anew = None if role.max_duration is None else now
                await self._renew(unit, target, before, new, anew=anew)
                outcome.renewed.append(code)
        for each in has.values():
            await assignments.revoke(unit.connection, target, each.id, now)
            outcome.ended.append(each.role_code)
        await self._changed(unit, target, user, outcome)
        return outcome

    async def follow(self, unit: UnitOfWork, source: str, user_id: int, groups: Collection[str]) -> None:
        """Let a user have the roles of ``groups``, for as long as the directory does not say otherwise.

        Roles beyond the ceiling are left out. Who holds more by others gets nothing, and still loses what the
        directory has given and these groups do not give. Raises ``NotFound`` and ``Conflict``.
        """
        try:
            await self.set_roles(unit, source, user_id, groups, until=None, strict=False)
        except PermissionDenied as refusal:
            decision_id = None if refusal.decision is None else refusal.decision.id
            _log.warning(
                "a user above the ceiling got no role of a group",
                event_type="security",
                directory=source,
                login_id=str(user_id),
                decision_id=decision_id,
            )
            stored = await directories.named(unit.connection, source)
            mapping = {} if stored is None else stored.mapping
            kept = {code for group in groups for code in mapping.get(group, ())}
            await self._take_back(unit, source, user_id, kept)

    async def _take_back(self, unit: UnitOfWork, source: str, user_id: int, kept: Collection[str]) -> None:
        """End the roles that the directory has given, but for those that are ``kept``."""
        target, now = await self._known(unit, source, user_id), self.now()
        user = await user_list.read(unit.connection, user_id)
        outcome = Outcome()
        for each in await directories.assigned(unit.connection, source, user_id, now):
            if each.role_code not in kept:
                await assignments.revoke(unit.connection, target, each.id, now)
                outcome.ended.append(each.role_code)
        await self._changed(unit, target, user, outcome)

    async def deprovision(self, unit: UnitOfWork, source: str, user_id: int) -> User:
        """Disable a user whom the directory knows, whatever that user holds; sessions end, rows stay.

        Requests for roles that wait end with it. Raises ``NotFound``, and ``Conflict`` where no administrator
        would remain, and for a directory that is cut off.
        """
        await self._enabled(unit.connection, source)
        target = await self._known(unit, source, user_id)
        user = await user_list.read(unit.connection, user_id)
        change_log.concerns(change_log.user_target(user.user_name))
        unit.check.directory = source
        if user.status == "disabled":
            unit.follow_ups.append(partial(self._revocations.settle, target))
            unit.leaving.add(user_id)
            return user
        await access_requests.fail_all(
            unit.connection,
            self.now(),
            "Its author was disabled",
            by=unit.caller.user_name,
            user_ids=[user_id],
        )
        return await self._accounts.change_status(unit, target, user, "disabled")

    async def editing(
        self, unit: UnitOfWork, source: str, user_id: int, stored: Directory | None = None
    ) -> tuple[Target, DelegationCheck]:
        """Return a user whom the directory may edit, and the check of its ceiling.

        What it has assigned itself does not count: it may always take that back. Raises as ``set_roles``.
        """
        stored = stored or await self._enabled(unit.connection, source)
        target = await self._known(unit, source, user_id)
        unit.check.directory = source
        check = unit.check.of_ceiling(stored.ceiling if stored else ())
        beside = await directories.role_ids_beside(unit.connection, source, user_id)
        await check.require_roles(unit.connection, beside, _ABOVE)
        return target, check

    async def _known(self, unit: UnitOfWork, source: str, user_id: int) -> Target:
        if not await directories.knows(unit.connection, source, user_id):
            raise NotFound("The directory does not know this user")
        return unit.check.provisioned(user_id)

    async def _enabled(self, connection: Connection, source: str) -> Directory | None:
        """Return the stored directory; None for a provider without a mapping, which hands out nothing."""
        stored = await directories.named(connection, source)
        if stored is not None and not stored.enabled:
            raise managed_by(source, "The directory {name} is cut off")
        return stored

    async def _denial(
        self, connection: Connection, check: DelegationCheck, role_id: int, *, strict: bool
    ) -> Decision | None:
        try:
            await check.require_roles(connection, [role_id], _BEYOND)
        except PermissionDenied as refusal:
            if strict or not isinstance(refusal.decision, Decision):
                raise
            return refusal.decision
        return None

    @staticmethod
    async def _give(unit: UnitOfWork, target: Target, new: Given, now: datetime) -> None:
        while await assignments.identical(unit.connection, target, new):
            # Another directory has given the same window, and each pair of role and window is there once.
            new = replace(new, valid_from=(new.valid_from or now) - _MILLISECOND)
        await assignments.give(unit.connection, target, [new])

    async def _renew(
        self, unit: UnitOfWork, target: Target, before: Assigned, new: Given, *, anew: datetime | None
    ) -> None:
        """Let an assignment end as ``new`` does; ``anew`` by another one from then on."""
        if (now := anew) is not None:
            await assignments.revoke(unit.connection, target, before.id, now)
            await self._give(unit, target, replace(new, valid_from=now), now)
            return
        renewed = replace(new, valid_from=before.valid_from)
        while await assignments.identical(unit.connection, target, renewed, before.id):
            renewed = replace(renewed, valid_from=(renewed.valid_from or self.now()) - _MILLISECOND)
        await assignments.change(unit.connection, target, before.id, renewed)

    async def _changed(self, unit: UnitOfWork, target: Target, user: User, outcome: Outcome) -> None:
        """Tell the log and the user, and have older tokens refreshed, which carry the end of a role too."""
        if not (outcome.given or outcome.renewed or outcome.ended):
            return
        unit.refreshing.add(target.user_id)
        if not (outcome.given or outcome.ended):
            return
        name = change_log.user_target(user.user_name)
        unit.changes += values_change(name, "roles", outcome.ended, outcome.given)
        await accounts.update(unit.connection, target, {})
        facts: dict[str, Any] = {
            "givenRoles": outcome.given or None,
            "takenRoles": outcome.ended or None,
        }
        await self._notices.tell(unit.connection, target.user_id, "roles_changed", "administrator", facts)

    async def _for_change(self, unit: UnitOfWork, name: str, match: Match) -> Directory | None:
        change_log.concerns(target_of(name))
        before = await directories.named(unit.connection, name)
        match(before)
        return before

    async def _end_others(self, unit: UnitOfWork, name: str, kept: Collection[int]) -> None:
        """End what a directory has assigned but for the roles that are ``kept``."""
        ended = await assignments.revoke_of_directory(unit.connection, name, kept, self.now())
        if ended:
            await accounts.raise_versions(unit.connection, ended)
            unit.refreshing.update(ended)
            unit.changes += values_change(target_of(name), "usersWhoseRolesEnd", [str(len(ended))], [])


async def _require_known(connection: Connection, ceiling: Collection[str]) -> None:
    stored = {button.auth_mark for button in await menus.button_codes(connection)}
    faults = [
        (f"ceiling[{place}]", "No Button carries this code")
        for place, code in enumerate(ceiling)
        if code not in stored
    ]
    if faults:
        raise ValidationFailed(*faults)


async def _require_good(
    unit: UnitOfWork, name: str, values: DirectoryValues, before: Directory | None
) -> None:
    faults = []
    ids = await directories.role_ids(unit.connection, _roles_of(values))
    for place, (_group, codes) in enumerate(values.mapping.items()):
        for number, code in enumerate(codes):
            if code not in ids:
                faults.append((f"mapping[{place}].roles[{number}]", "There is no such role"))
            elif lacking := await unit.check.beyond(unit.connection, values.ceiling, [ids[code]]):
                fault = f"The role gives {lacking[0]}, which the ceiling does not have"
                faults.append((f"mapping[{place}].roles[{number}]", fault))
    if before is not None and before.kind != values.kind:
        faults.append(("kind", "can't be changed"))
    if (values.kind == "scim") != (values.client_id is not None):
        faults.append(("client", "A directory that provisions has a service account, and no other has one"))
    if faults:
        raise ValidationFailed(*faults)
    if values.client_id is not None:
        other = await directories.of_client(unit.connection, values.client_id)
        if other is not None and other.name != name:
            raise Conflict("The service account provisions for another directory", rule="unique")


def _roles_of(values: DirectoryValues) -> set[str]:
    return {code for codes in values.mapping.values() for code in codes}


def _shown(values: DirectoryValues | None) -> dict[str, Any]:
    """Return a directory as the operation log tells it."""
    if values is None:
        return {}
    mapping = {f"{group}: {code}" for group, codes in values.mapping.items() for code in codes}
    return {
        "kind": values.kind,
        "enabled": values.enabled,
        "ceiling": frozenset(values.ceiling),
        "mapping": frozenset(mapping),
    }


async def read(database: Database, name: str) -> Directory:
    """Return a directory; ``NotFound`` without one."""
    async with database.snapshot() as connection:
        stored = await directories.named(connection, name)
    if stored is None:
        raise NotFound("There is no such directory")
    return stored


async def cut_off(unit: UnitOfWork, name: str, *, roles: bool, known: bool) -> list[SignedIn]:
    """Disable a directory, and return the sign-ins whose sessions are to be ended after the commit.

    ``roles``: what it has given ends too. ``known`` tells that the settings have a provider of that name,
    which need not be stored yet. Raises ``NotFound``.
    """
    before = await directories.named(unit.connection, name)
    if before is None and not known:
        raise NotFound("There is no such directory")
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
    return await directories.sign_ins(unit.connection, name)
