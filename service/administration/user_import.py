"""Import of users from a table."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Mapping, Sequence

from service.administration import change_log
from service.administration import user_edits as account_edits
from service.administration.delegation import Delegation
from service.administration.import_rows import RowFaults
from service.administration.table_import import TableImport, TableRow, Work
from service.administration.user_edits import Edit
from service.administration.user_rows import WITHOUT_PASSWORD, Wanted, check_passwords, wanted_by
from service.authn.password_rules import PasswordRules
from service.authn.passwords import Passwords
from service.authn.revocations import Revocations
from service.errors import Conflict, PermissionDenied
from service.kernel.identity import Caller
from service.kernel.names import name_key
from service.records import accounts, user_list
from service.records.accounts import TAKEN, NewRow
from service.records.database.transactions import Connection, Database
from service.records.user_list import User, UserValues

_RANDOM_BYTES = 32

Hashes = Mapping[int | None, str]
"""The password hash of each row, by row number; under None a hash of no known password."""


class UserImport(TableImport[Hashes | None, list[Edit]]):
    """Imports users, who are identified by name.

    A new person without a password is disabled, and can log in after a password is set and the user enabled.
    """

    def __init__(
        self,
        database: Database,
        delegation: Delegation,
        revocations: Revocations,
        passwords: Passwords,
        rules: PasswordRules,
    ) -> None:
        super().__init__(database, delegation, revocations)
        self._passwords = passwords
        self._rules = rules

    async def _prepare(self, caller: Caller, rows: Sequence[TableRow], *, dry_run: bool) -> Hashes | None:
        """Return the hashes, if all rows are valid by themselves; None for a dry run."""
        faults = RowFaults()
        async with self._database.snapshot() as connection:
            users = await self._wanted(connection, rows, faults, caller.service)
        await asyncio.to_thread(check_passwords, users, self._rules, faults)
        faults.require_none()
        return None if dry_run else await self._hashes(users)

    async def _save(self, work: Work, rows: Sequence[TableRow], prepared: Hashes | None) -> list[Edit]:
        users = await self._wanted(work.connection, rows, work.faults, work.check.bound_to)
        work.faults.require_none()  # users may have changed since the rows were checked first
        await _create(work, [user for user in users if user.before is None], prepared)
        edits: list[Edit] = []
        for user in users:
            if user.before is not None and user.changes:
                await _edit(work, user, user.before, edits)
            elif user.before is not None:
                work.tell(user.given, "unchanged")
        return edits

    async def _affected(self, _connection: Connection, changed: list[Edit]) -> list[int]:
        return [edit.after.id for edit in changed if edit.revokes_tokens]

    async def _follow(self, changed: list[Edit]) -> None:
        for edit in changed:
            if edit.before.status == edit.after.status:
                continue
            # After the commit: a login that read the old status meets the ban.
            disabled = edit.after.status == "disabled"
            await self._revocations.settle_status(
                edit.target, user_name=edit.after.user_name, disabled=disabled
            )

    async def _wanted(
        self, connection: Connection, rows: Sequence[TableRow], faults: RowFaults, bound_to: str | None
    ) -> list[Wanted]:
        codes = {code for row in rows for code in row.codes or ()}
        known = await user_list.directory(connection, {name_key(row.name) for row in rows}, codes)
        return wanted_by(rows, known, faults, bound_to)

    async def _hashes(self, users: Sequence[Wanted]) -> Hashes:
        passwords: dict[int | None, str] = {
            user.given.row: user.given.password for user in users if user.given.password is not None
        }
        if any(user.before is None and user.is_person and user.given.password is None for user in users):
            # A random password known to nobody; sharing its hash reveals only that these users have none.
            passwords[None] = secrets.token_urlsafe(_RANDOM_BYTES)
        hashes = await self._passwords.hash_all(list(passwords.values()))
        return dict(zip(passwords, hashes, strict=True))


async def _create(work: Work, users: Sequence[Wanted], hashes: Hashes | None) -> None:
    """Write all new users together; the existing roles are checked once for each distinct set."""
    by_roles: dict[tuple[int, ...], list[Wanted]] = {}
    rows: dict[str, NewRow] = {}
    for user in users:
        password_hash = _hash_of(user, hashes)
        with work.faults.of(user.given.row, "service"):
            account = work.check.new_account(user.values)
            rows[user.key] = NewRow(account, password_hash, user.role_ids or ())
        by_roles.setdefault(tuple(sorted(user.role_ids or ())), []).append(user)
    for role_ids, alike in by_roles.items():
        try:
            await work.check.require_roles(work.connection, role_ids)
        except PermissionDenied as refusal:
            for user in alike:
                work.faults.note(user.given.row, "roles", refusal)
    written = await accounts.create_all(work.connection, rows.values())
    for user in users:
        if user.key in rows and user.key not in written:
            work.faults.note(user.given.row, "userName", Conflict(TAKEN, rule="unique"))
        work.changes += change_log.imported_user(UserValues(**user.values), user.given.codes or ())
        disabled = user.is_person and user.given.password is None
        work.tell(user.given, "created", note=WITHOUT_PASSWORD if disabled else None)


def _hash_of(user: Wanted, hashes: Hashes | None) -> str | None:
    """Return the hash for a new user, None for a service account; an empty one in a dry run."""
    if not user.is_person:
        return None
    if hashes is None:
        return ""
    password_hash = hashes.get(None if user.given.password is None else user.given.row)
    if password_hash is None:  # the user existed when the passwords were hashed
        raise Conflict("Users of the table have been deleted meanwhile", rule="changed_meanwhile")
    return password_hash


async def _edit(work: Work, user: Wanted, before: User, edits: list[Edit]) -> None:
    with work.faults.of(user.given.row, "userName"):
        target = await work.check.target(work.connection, before.id, "edit")
        with work.faults.of(user.given.row, "roles", "status"):
            edit = await account_edits.edit(
                work.connection, work.check, target, before, user.values, role_ids=user.role_ids
            )
            edits.append(edit)
            work.changes += change_log.edited_user(edit.before, edit.after)
            work.tell(user.given, "updated", user.changes)
