"""Creating, editing, disabling and deleting users, with immediate effects.

The changed user is marked before the commit, so nothing is saved while the session store is unavailable.
After the commit the user is marked again: older tokens are revoked even if this process is killed in between.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from service.administration import change_log, user_edits
from service.administration import user_edits as account_rules
from service.administration.change_log import check_values
from service.administration.delegation import Delegation
from service.administration.events import BEFORE_ACCOUNT_EDIT
from service.administration.unit_of_work import RightsUnits, Saved, UnitOfWork, unconditionally
from service.administration.user_edits import AddressChanged, NewUser
from service.audit.redaction import CLEAR
from service.authn.password_change import PasswordChange
from service.authn.password_rules import PasswordRules
from service.authn.passwords import Passwords
from service.authn.revocations import Revocations
from service.errors import ValidationFailed
from service.kernel.account_acts import Act
from service.kernel.core_sentences import sentence
from service.kernel.identity import Caller, Target
from service.kernel.notify import Notices
from service.kernel.origin import field_changes
from service.kernel.write import Write
from service.records import accounts, user_list
from service.records.database.transactions import Connection
from service.records.role_rights import Pace
from service.records.user_list import Status, User, UserValues

Match = Callable[[User], None]
"""Raises ``PreconditionFailed`` if the user has changed since the caller read it."""
Erasing = Callable[[UnitOfWork, Target], Awaitable[None]]
"""Begins the erasure of a user in the transaction that deletes the account."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Accounts:
    """Changes users, one at a time; the refusals are those of ``user_edits``, and ``Unavailable``."""

    units: RightsUnits
    revocations: Revocations
    passwords: Passwords
    rules: PasswordRules
    address_changed: AddressChanged
    notices: Notices

    async def create(self, write: Write, given: Mapping[str, Any]) -> Saved[User]:
        """Create a user of the given values, ``password`` or ``invite``, and ``role_ids``.

        Raises ``ValidationFailed`` also for the password.
        """
        values = dict(given)
        password, role_ids = values.pop("password", None), values.pop("role_ids", None)
        invited = values.pop("invite", False)
        new = NewUser(user_edits.created_by(write.caller.service, values), password, role_ids or (), invited)
        password_hash = await self._hash_of(new)
        async with self.units.of_rights(write) as unit:
            made = await self.add(unit, new, password_hash)
            await unit.made(made)
        return Saved(made)

    async def add(self, unit: UnitOfWork, new: NewUser, password_hash: str | None) -> User:
        """Create a user within ``unit``, as ``create`` does, whose values have been checked."""
        made = await user_edits.add(unit, new, password_hash)
        await self.address_changed(unit.connection, None, made, unit.check.acting_id)
        target = change_log.user_target(made.user_name)
        unit.changes += field_changes(target, {}, change_log.user_fields(made))
        return made

    async def update(
        self, write: Write, user_id: int, given: Mapping[str, Any], match: Match = unconditionally
    ) -> Saved[User]:
        """Store the given values and ``role_ids``; absent values are unchanged.

        Raises ``NotFound``, ``PermissionDenied`` if the user holds a code that the caller lacks, and
        ``Conflict`` if no administrator would remain, also with concurrent changes.
        """
        values = dict(given)
        role_ids = values.pop("role_ids", None)
        check_values(UserValues, values)
        only_takes = values.items() <= {("status", "disabled")}
        if only_takes and await self.units.has_roles(user_id, role_ids or ()):
            with suppress(_GivesError):
                return await self._update(write, user_id, values, role_ids, match, pace="urgent")
        return await self._update(write, user_id, values, role_ids, match)

    async def _update(
        self,
        write: Write,
        user_id: int,
        values: Mapping[str, Any],
        role_ids: Collection[int] | None,
        match: Match,
        *,
        pace: Pace = "usual",
    ) -> Saved[User]:
        async with self._touching(write, user_id, "edit", match, pace) as (unit, target, user):
            if pace == "urgent" and not {*(role_ids or ())} <= {role.id for role in user.roles}:
                raise _GivesError
            saved = await self.edit(unit, target, user, values, role_ids=role_ids)
            unit.targets.append(change_log.user_target(saved.user_name))
        return Saved(saved)

    async def set_status(
        self, write: Write, user_id: int, status: Status, match: Match = unconditionally
    ) -> User:
        """Disable or enable a user, as ``update`` does: a disabled user is banned and has no session.

        An unchanged status is also copied to the session store again.
        """
        act: Act = "enable" if status == "enabled" else "disable"
        pace: Pace = "usual" if status == "enabled" else "urgent"
        async with self._touching(write, user_id, act, match, pace) as (unit, target, user):
            if user.status != status:
                return await self.change_status(unit, target, user, status)
            unit.follow_ups.append(partial(self.revocations.settle, target))
            unit.leaving.add(user_id)
        return user

    async def delete(
        self,
        write: Write,
        user_id: int,
        match: Match = unconditionally,
        *,
        erasing: Erasing | None = None,
    ) -> Saved[None]:
        """Delete a user and end all sessions; raises the refusals of ``update``.

        The id is never used again, so its tokens are not valid for a later user with the same name. With
        ``erasing``, which runs before the deletion, the log entry has the number in place of the name, and
        only fields that stay readable.
        """
        by_number = erasing is not None
        async with self._touching(write, user_id, "delete", match, by_number=by_number) as (
            unit,
            target,
            user,
        ):
            await BEFORE_ACCOUNT_EDIT.emit(unit.connection, user_id, unit.check.directory)
            fields = change_log.user_fields(user)
            if erasing is not None:
                await erasing(unit, target)
                fields = {name: value for name, value in fields.items() if name in CLEAR}
            await user_edits.remove(unit.connection, target)
            unit.changes += field_changes(_log_target(user, by_number=by_number), fields, {})
            unit.leaving.add(user_id)
            unit.follow_ups += [
                # A ban without an end would stay in the store for ever.
                partial(self.revocations.settle, target),
                partial(self.revocations.end_sessions, target),
            ]
        return Saved(None)

    async def edit(
        self,
        unit: UnitOfWork,
        target: Target,
        before: User,
        values: Mapping[str, Any],
        *,
        role_ids: Collection[int] | None = None,
    ) -> User:
        """Store values and roles of a user within ``unit``, as ``update`` does; return the stored user."""
        within, notices = (unit.connection, unit.check), self.notices
        edit = await user_edits.edit(*within, target, before, values, notices=notices, role_ids=role_ids)
        unit.changes += change_log.edited_user(edit.before, edit.after)
        by = unit.check.acting_id
        await self.address_changed(unit.connection, edit.before, edit.after, by)
        if edit.before.status != edit.after.status:
            # After the commit: a login that read the old status meets the ban.
            disabled = edit.after.status == "disabled"
            settle = self.revocations.settle_status
            unit.follow_ups.append(partial(settle, target, user_name=edit.after.user_name, disabled=disabled))
        if edit.revokes_tokens:
            unit.refreshing.add(target.user_id)
        return edit.after

    async def change_status(self, unit: UnitOfWork, target: Target, before: User, status: Status) -> User:
        """Disable or enable a user within ``unit``; return the stored user."""
        after = await self.edit(unit, target, before, {"status": status})
        # The steps for ``leaving`` settle the session store, so the user is not marked a second time.
        unit.refreshing.discard(target.user_id)
        unit.leaving.add(target.user_id)
        return after

    async def _hash_of(self, new: NewUser) -> str | None:
        """Return the password hash of ``new``; None for a service account or an invited person.

        Raises ``ValidationFailed`` for the password or another value.
        """
        values = new.values
        check_values(UserValues, values)
        kind = values.get("kind", "person")
        account_rules.require_kind(kind, values)
        if kind == "service":
            for name, given in (("password", new.password is not None), ("invite", new.invited)):
                if given:
                    raise ValidationFailed((name, sentence("password_of_service")))
            return None
        if new.invited:
            if new.password is not None:
                raise ValidationFailed(("password", sentence("password_of_invited")))
            return None
        if new.password is None:
            raise ValidationFailed(("password", sentence("required")))
        await self.rules.require("password", new.password, UserValues(**values))
        return await self.passwords.hash(new.password)

    @asynccontextmanager
    async def _touching(
        self,
        write: Write,
        user_id: int,
        act: Act,
        match: Match,
        pace: Pace = "usual",
        *,
        by_number: bool = False,
    ) -> AsyncIterator[tuple[UnitOfWork, Target, User]]:
        """Let the block change the user if the caller may; ``Conflict`` if no administrator would remain.

        The log names the user, or ``by_number`` the number.
        """
        async with self.units.of_rights(write, pace=pace) as unit:
            user = await user_list.read(unit.connection, user_id)
            change_log.concerns(_log_target(user, by_number=by_number))
            target = await unit.check.target(unit.connection, user_id, act)
            match(user)
            yield unit, target, user


def _log_target(user: User, *, by_number: bool) -> str:
    return change_log.user_target(f"#{user.id}" if by_number else user.user_name)


class _GivesError(Exception):
    """An urgent edit would give a role: it is begun anew as a usual one."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PasswordReset:
    """Sets the passwords of users who hold no more than the caller."""

    delegation: Delegation
    passwords: PasswordChange

    async def reset(self, caller: Caller, user_id: int, new: str) -> None:
        """Set the password of another user and end all sessions of that user.

        Raises ``PermissionDenied`` if the user holds a code that the caller lacks in the saving transaction.
        The caller's own password is also denied: its change requires the current one. Raises ``NotFound``,
        ``Conflict``, ``ValidationFailed`` and ``Unavailable``.
        """

        async def authorize(connection: Connection, *, only_reads: bool = False) -> Target:
            check = await self.delegation.check(connection, caller)
            target = await check.target(connection, user_id, "set-password", only_reads=only_reads)
            await BEFORE_ACCOUNT_EDIT.emit(connection, user_id, check.directory)
            if (user := await accounts.standing_of(connection, user_id)) is not None:
                change_log.concerns(change_log.user_target(user.user_name))
            return target

        await self.passwords.reset(new, partial(authorize, only_reads=True), authorize)
