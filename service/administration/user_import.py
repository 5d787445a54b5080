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
from service.records.database.transactions import Connection, Database
from service.records.users import account_writes as user_edits
from service.records.users import user_tables
from service.records.users.account_writes import TAKEN, NewRow
from service.records.users.listing import User, UserValues

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
            wanted = await self._wanted(connection, rows, faults, caller.service)
        await asyncio.to_thread(check_passwords, wanted, self._rules, faults)
        faults.require_none()
        return None if dry_run else await self._hashes(wanted)

    async def _save(self, work: Work, rows: Sequence[TableRow], prepared: Hashes | None) -> list[Edit]:
        wanted = await self._wanted(work.connection, rows, work.faults, work.check.bound_to)
        work.faults.require_none()  # users may have changed since the rows were checked first
        await _create(work, [one for one in wanted if one.before is None], prepared)
        edits: list[Edit] = []
        for one in wanted:
            if one.before is not None and one.changes:
                await _edit(work, one, one.before, edits)
            elif one.before is not None:
                work.tell(one.said, "unchanged")
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
        codes = {code for one in rows for code in one.codes or ()}
        known = await user_tables.directory(connection, {name_key(one.name) for one in rows}, codes)
        return wanted_by(rows, known, faults, bound_to)

    async def _hashes(self, wanted: Sequence[Wanted]) -> Hashes:
        passwords: dict[int | None, str] = {
            one.said.row: one.said.password for one in wanted if one.said.password is not None
        }
        if any(one.before is None and one.is_person and one.said.password is None for one in wanted):
            # A random password known to nobody; sharing its hash reveals only that these users have none.
            passwords[None] = secrets.token_urlsafe(_RANDOM_BYTES)
        hashes = await self._passwords.hash_all(list(passwords.values()))
        return dict(zip(passwords, hashes, strict=True))


async def _create(work: Work, wanted: Sequence[Wanted], hashes: Hashes | None) -> None:
    """Write all new users together; the existing roles are checked once for each distinct set."""
    by_roles: dict[tuple[int, ...], list[Wanted]] = {}
    rows: dict[str, NewRow] = {}
    for one in wanted:
        password_hash = _hash_of(one, hashes)
        with work.faults.of(one.said.row, "service"):
            account = work.check.new_account(one.values)
            rows[one.key] = NewRow(account, password_hash, one.role_ids or ())
        by_roles.setdefault(tuple(sorted(one.role_ids or ())), []).append(one)
    for role_ids, alike in by_roles.items():
        try:
            await work.check.require_roles(work.connection, role_ids)
        except PermissionDenied as refusal:
            for one in alike:
                work.faults.note(one.said.row, "roles", refusal)
    written = await user_edits.create_all(work.connection, rows.values())
    for one in wanted:
        if one.key in rows and one.key not in written:
            work.faults.note(one.said.row, "userName", Conflict(TAKEN, rule="unique"))
        work.changes += change_log.imported_user(UserValues(**one.values), one.said.codes or ())
        disabled = one.is_person and one.said.password is None
        work.tell(one.said, "created", note=WITHOUT_PASSWORD if disabled else None)


def _hash_of(one: Wanted, hashes: Hashes | None) -> str | None:
    """Return the hash for a new user, None for a service account; an empty one in a dry run."""
    if not one.is_person:
        return None
    if hashes is None:
        return ""
    password_hash = hashes.get(None if one.said.password is None else one.said.row)
    if password_hash is None:  # the user existed when the passwords were hashed
        raise Conflict("Users of the table have been deleted meanwhile", rule="changed_meanwhile")
    return password_hash


async def _edit(work: Work, one: Wanted, before: User, edits: list[Edit]) -> None:
    with work.faults.of(one.said.row, "userName"):
        target = await work.check.target(work.connection, before.id, "edit")
        with work.faults.of(one.said.row, "roles", "status"):
            edit = await account_edits.edit(
                work.connection, work.check, target, before, one.values, role_ids=one.role_ids
            )
            edits.append(edit)
            work.changes += change_log.edited_user(edit.before, edit.after)
            work.tell(one.said, "updated", one.changes)
