"""Creating, editing, disabling and deleting users, with immediate effects.

The changed user is marked before the commit, so that nothing is saved while the session store is unavailable,
and again after it: older tokens are revoked even if this process is killed in between.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from service.administration import change_log, user_edits
from service.administration import user_edits as account_rules
from service.administration.delegation import Delegation, DelegationCheck
from service.administration.unit_of_work import Saved, unconditionally
from service.administration.user_edits import Edit, NewUser
from service.administration.value_check import check_values
from service.authn.password_rules import PasswordRules
from service.authn.passwords import Passwords
from service.authn.revocations import Revocations
from service.errors import ValidationFailed
from service.kernel import keyed_write
from service.kernel.account_acts import Act
from service.kernel.change_record import field_changes
from service.kernel.identity import Caller
from service.kernel.target import Target
from service.records import user_list
from service.records.database.transactions import Connection, Database
from service.records.user_list import Status, User, UserValues

Match = Callable[[User], None]
"""Raises ``PreconditionFailed`` if the user has changed since the caller read it."""


class Accounts:
    """Changes users, one at a time; the refusals are those of ``account_edits``, and ``Unavailable``."""

    def __init__(
        self,
        database: Database,
        delegation: Delegation,
        revocations: Revocations,
        passwords: Passwords,
        rules: PasswordRules,
    ) -> None:
        self._database = database
        self._delegation = delegation
        self._revocations = revocations
        self._passwords = passwords
        self._rules = rules

    async def create(self, caller: Caller, given: Mapping[str, Any]) -> Saved[User]:
        """Create a user of the given values, ``password`` and ``role_ids``.

        Raises ``ValidationFailed`` also for the password.
        """
        values = dict(given)
        password, role_ids = values.pop("password", None), values.pop("role_ids", None)
        new = NewUser(user_edits.created_by(caller.service, values), password, role_ids or ())
        password_hash = await self.hash_of(new)
        async with self._database.transaction() as connection, self._delegation.changing(connection):
            check = await self._delegation.check(connection, caller)
            made = await user_edits.add(connection, check, new, password_hash)
            await keyed_write.made(Saved(made))
        target = change_log.user_target(made.user_name)
        change_log.saved(field_changes(target, {}, change_log.user_fields(made)))
        return Saved(made)

    async def hash_of(self, new: NewUser) -> str | None:
        """Return the hash of the password of ``new``, None for a service account.

        Raises ``ValidationFailed`` for the password or another value.
        """
        values = new.values
        check_values(UserValues, values)
        kind = values.get("kind", "person")
        account_rules.require_kind(kind, values)
        if kind == "service":
            if new.password is not None:
                raise ValidationFailed(("password", "is not for service accounts, which have API keys"))
            return None
        if new.password is None:
            raise ValidationFailed(("password", "The field is required"))
        await self._rules.require("password", new.password, UserValues(**values))
        return await self._passwords.hash(new.password)

    async def update(
        self, caller: Caller, user_id: int, given: Mapping[str, Any], match: Match = unconditionally
    ) -> Saved[User]:
        """Store the given values and ``role_ids``; absent values are unchanged.

        Raises ``NotFound``, ``PermissionDenied`` if the user holds a code that the caller lacks, and
        ``Conflict`` if no administrator would remain, also with concurrent changes.
        """
        values = dict(given)
        role_ids = values.pop("role_ids", None)
        check_values(UserValues, values)
        async with self._database.transaction() as connection:
            async with self._touching(connection, caller, user_id, "edit", match) as (check, target, user):
                edit = await user_edits.edit(connection, check, target, user, values, role_ids=role_ids)
            if edit.revokes_tokens:
                await self._revocations.mark_first([user_id])
        changes = change_log.edited_user(edit.before, edit.after)
        change_log.saved(changes, change_log.user_target(edit.after.user_name))
        await self._follow(edit)
        return Saved(edit.after)

    async def set_status(
        self, caller: Caller, user_id: int, status: Status, match: Match = unconditionally
    ) -> User:
        """Disable or enable a user, as ``update`` does: a disabled user is banned and has no session.

        An unchanged status is also copied to the session store again.
        """
        changes = []
        act: Act = "enable" if status == "enabled" else "disable"
        async with self._database.transaction() as connection:
            async with self._touching(connection, caller, user_id, act, match) as (check, target, user):
                saved = user
                if user.status != status:
                    edit = await user_edits.edit(connection, check, target, user, {"status": status})
                    changes, saved = change_log.edited_user(edit.before, edit.after), edit.after
            await self._revocations.mark_first([user_id])
        change_log.saved(changes)
        if user.status == status:
            await self._revocations.settle(target)
        else:
            await self._follow_status(target, user.user_name, status)
        return saved

    async def delete(self, caller: Caller, user_id: int, match: Match = unconditionally) -> Saved[None]:
        """Delete a user and end all sessions; raises the refusals of ``update``.

        The id is never used again, so its tokens are not valid for a later user with the same name.
        """
        async with self._database.transaction() as connection:
            async with self._touching(connection, caller, user_id, "delete", match) as (_, target, user):
                await user_edits.remove(connection, target)
            await self._revocations.mark_first([user_id])
        name = change_log.user_target(user.user_name)
        change_log.saved(field_changes(name, change_log.user_fields(user), {}))
        await self._revocations.settle(target)  # a ban without an end would stay in the store for ever
        await self._revocations.end_sessions(target)
        return Saved(None)

    async def _follow(self, edit: Edit) -> None:
        if edit.before.status != edit.after.status:
            await self._follow_status(edit.target, edit.after.user_name, edit.after.status)
        if edit.revokes_tokens:
            await self._revocations.mark(edit.after.id)

    async def _follow_status(self, target: Target, user_name: str, status: Status) -> None:
        # After the commit: a login that read the old status meets the ban.
        disabled = status == "disabled"
        await self._revocations.settle_status(target, user_name=user_name, disabled=disabled)

    @asynccontextmanager
    async def _touching(
        self, connection: Connection, caller: Caller, user_id: int, act: Act, match: Match
    ) -> AsyncIterator[tuple[DelegationCheck, Target, User]]:
        """Let the block change the user, if the caller may and it leaves somebody who may do everything."""
        async with self._delegation.changing(connection):
            check = await self._delegation.check(connection, caller)
            user = await user_list.read(connection, user_id)
            change_log.concerns(change_log.user_target(user.user_name))
            target = await check.target(connection, user_id, act)
            match(user)
            yield check, target, user
