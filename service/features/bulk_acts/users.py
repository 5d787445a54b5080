"""The same operation on many users in one transaction; each user is checked as in a single operation."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, Literal

from service.administration import change_log
from service.administration.accounts import Accounts
from service.administration.lasting import FOR_GOOD
from service.administration.unit_of_work import RightsUnits, Saved, UnitOfWork
from service.administration.user_edits import MAX_ROLES
from service.authn.revocations import ALL_SESSIONS_END, Revocations
from service.errors import NotFound, ValidationFailed
from service.features.bulk_acts.many_rows import WITHIN, BulkDone, RowFaults, add_duplicate_faults
from service.features.bulk_acts.sentences import sentence
from service.kernel.account_acts import Act
from service.kernel.identity import Target
from service.kernel.write import Write
from service.keyspace import SessionStore
from service.records import accounts, user_list
from service.records.role_rights import Pace
from service.records.user_list import Status, User

MAX_USERS: Final = 500
"""Maximum number of users per operation; it takes a few seconds, while other changes of rights wait."""

RoleChange = Literal["give", "take"]


_Change = Callable[[UnitOfWork, Target, User], Awaitable[bool]]
"""Change one user within a unit; return false if nothing changed."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class BulkActs:
    """Applies one operation to many users: to all of them, or to none.

    The methods raise ``RowsRefused`` with a fault for each user on whom the caller may not act; ``row`` is
    the position in the ids, from 1. Faults of the whole are raised as for one user: ``Conflict`` if no
    administrator would remain, ``RefreshRequired`` and ``Unavailable``.
    """

    units: RightsUnits
    accounts: Accounts
    revocations: Revocations
    store: SessionStore

    async def set_status(self, write: Write, user_ids: Sequence[int], status: Status) -> Saved[BulkDone]:
        """Enable or disable users; users with this status stay unchanged."""

        async def change(unit: UnitOfWork, target: Target, before: User) -> bool:
            if before.status != status:
                await self.accounts.change_status(unit, target, before, status)
            return before.status != status

        act: Act = "enable" if status == "enabled" else "disable"
        pace: Pace = "urgent" if act == "disable" else "bulk"
        return await self._do(write, user_ids, (act,), change, pace=pace)

    async def change_role(
        self, write: Write, user_ids: Sequence[int], role_id: int, action: RoleChange
    ) -> Saved[BulkDone]:
        """Grant a role to users, or revoke it; their other roles remain.

        Raises ``ValidationFailed`` for an unknown role, and ``PermissionDenied`` if the role has a code that
        the caller lacks.
        """

        async def require_role(unit: UnitOfWork) -> None:
            if await accounts.unknown_roles(unit.connection, [role_id]):
                raise ValidationFailed(("roleId", sentence("no_such_role")))
            until = FOR_GOOD if action == "give" else None
            await unit.check.require_roles(unit.connection, [role_id], until=until)

        async def change(unit: UnitOfWork, target: Target, before: User) -> bool:
            had = {role.id for role in before.roles}
            after = had | {role_id} if action == "give" else had - {role_id}
            if len(after) > max(MAX_ROLES, len(had)):
                raise ValidationFailed(("roleId", sentence("too_many_roles", most=MAX_ROLES)))
            if after != had:
                await self.accounts.edit(unit, target, before, {}, role_ids=after)
            return after != had

        pace: Pace = "bulk" if action == "give" else "urgent"
        return await self._do(write, user_ids, ("edit", "set-roles"), change, require_role, pace=pace)

    async def end_sessions(self, write: Write, user_ids: Sequence[int]) -> Saved[BulkDone]:
        """End all sessions of users; users without a session stay unchanged.

        The sessions end before the commit, so that a key whose creation waits for it finds none. Raises
        ``Unavailable`` before the commit. Later steps are retried until the session store has completed them.
        """

        async def change(unit: UnitOfWork, target: Target, before: User) -> bool:
            had_keys = await accounts.has_keys(unit.connection, target.user_id)
            if not (had_keys or await self.store.count_sessions([target.login_id])):
                return False
            await ALL_SESSIONS_END.emit(unit.connection, target.user_id)
            unit.leaving.add(target.user_id)
            first = await self.revocations.end_sessions_first(target) if write.dry_run is None else 0
            unit.follow_ups.append(partial(self.revocations.kick, target, before.user_name, first))
            return True

        return await self._do(write, user_ids, ("end-sessions",), change, pace="urgent")

    async def _do(
        self,
        write: Write,
        user_ids: Sequence[int],
        acts: Sequence[Act],
        change: _Change,
        require: Callable[[UnitOfWork], Awaitable[None]] | None = None,
        *,
        pace: Pace,
    ) -> Saved[BulkDone]:
        """Apply ``change`` to each user on whom the caller may perform ``acts``, after ``require``."""
        faults = RowFaults()
        add_duplicate_faults(faults, "ids", enumerate(map(str, user_ids), 1))
        async with self.units.of_rights(write, within=WITHIN, pace=pace) as unit:
            if require is not None:
                await require(unit)
            users = await self._targets(unit, user_ids, acts, faults)
            faults.require_none()
            unit.authorized()
            changed = 0
            for place, (target, before) in enumerate(users):
                with faults.of(place + 1, f"ids[{place}]"):
                    changed += await change(unit, target, before)
            faults.require_none()
            done = BulkDone(changed, len(users) - changed)
            await unit.made(done)
        return Saved(done)

    async def _targets(
        self, unit: UnitOfWork, user_ids: Sequence[int], acts: Sequence[Act], faults: RowFaults
    ) -> list[tuple[Target, User]]:
        """Return the users on whom the caller may perform ``acts``; add a fault for each other user."""
        stored = {user.id: user for user in await user_list.read_all(unit.connection, user_ids)}
        change_log.concerns(*(change_log.user_target(user.user_name) for user in stored.values()))
        targets = []
        for place, user_id in enumerate(user_ids):
            with faults.of(place + 1, f"ids[{place}]"):
                if user_id not in stored:
                    raise NotFound(sentence("no_such_user"))
                target = await unit.check.target(unit.connection, user_id, acts[0])
                for act in acts[1:]:
                    await unit.check.require_act(unit.connection, target, act)
                targets.append((target, stored[user_id]))
        return targets
