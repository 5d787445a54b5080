"""Many users in one transaction, with the guards of single changes for each row."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter

from service.administration import account_edits
from service.administration.account_edits import Edit
from service.administration.accounts import REASON
from service.administration.administrators import keeping_an_administrator
from service.administration.delegation import Grantor, grantor
from service.administration.import_rows import WITHIN, DryRun, ImportedRow, RowFaults, undo_if
from service.administration.user_rows import WITHOUT_PASSWORD, UserRow, Wanted, wanted_by
from service.authn.password_rules import PasswordRules
from service.authn.passwords import Passwords
from service.authn.revocations import Revocations
from service.errors import Conflict, PermissionDenied
from service.kernel.identity import Caller
from service.records import user_tables
from service.records.database import Connection, Database
from service.records.user_edits import TAKEN
from service.records.user_list import User
from service.records.user_tables import NewRow

_RANDOM_BYTES = 32

Hashes = Mapping[int | None, str]
"""The hash of each row's password, by row; of no password under None."""


@dataclass(slots=True)
class _Work:
    """An import under way: in ``connection``, on behalf of ``giver``."""

    connection: Connection
    giver: Grantor
    faults: RowFaults
    hashes: Hashes | None
    done: list[ImportedRow] = field(default_factory=list)
    edits: list[Edit] = field(default_factory=list)

    def hash_of(self, one: Wanted) -> str:
        """Return the hash for a new user; of a dry run, which saves none, an empty one."""
        if self.hashes is None:
            return ""
        password_hash = self.hashes.get(None if one.said.password is None else one.said.row)
        if password_hash is None:  # there was such a user when the passwords were hashed
            raise Conflict("Users of the table have been deleted meanwhile")
        return password_hash


class UserImport:
    """Creates the users that there are not, and edits those that differ; all rows, or none.

    A new user without a password is disabled, and can log in once somebody has set one and enabled him.
    """

    def __init__(
        self, database: Database, revocations: Revocations, passwords: Passwords, rules: PasswordRules
    ) -> None:
        self._database = database
        self._revocations = revocations
        self._passwords = passwords
        self._rules = rules

    async def run(self, caller: Caller, rows: Sequence[UserRow], *, dry_run: bool) -> list[ImportedRow]:
        """Save the rows, unless ``dry_run``; return what came of each, or would.

        Passwords are hashed before the transaction, once it is known that no row is faulty by itself. Raises
        ``RowsRefused`` with the faults of all rows; ``Conflict`` when nobody would be left who may do
        everything; ``RefreshRequired`` and ``Unavailable``.
        """
        faults = RowFaults()
        async with self._database.snapshot() as connection:
            wanted = await self._wanted(connection, rows, faults)
        faults.demand_none()
        hashes = None if dry_run else await self._hashes(wanted)
        try:
            work = await self._saved(caller, rows, hashes, dry_run=dry_run)
        except DryRun as undone:
            return undone.done
        await self._follow(work.edits)
        return work.done

    async def _saved(
        self, caller: Caller, rows: Sequence[UserRow], hashes: Hashes | None, *, dry_run: bool
    ) -> _Work:
        async with self._database.transaction(within=WITHIN) as connection:
            async with keeping_an_administrator(connection):
                work = _Work(connection, await grantor(connection, caller), RowFaults(), hashes)
                await _save(work, await self._wanted(connection, rows, work.faults))
            undo_if(dry_run=dry_run, done=work.done)
            await self._revocations.mark_first([edit.after.id for edit in work.edits if edit.felt])
        return work

    async def _wanted(
        self, connection: Connection, rows: Sequence[UserRow], faults: RowFaults
    ) -> list[Wanted]:
        codes = {code for one in rows for code in one.role_codes or ()}
        known = await user_tables.directory(connection, {one.key for one in rows}, codes)
        return wanted_by(rows, known, self._rules, faults)

    async def _hashes(self, wanted: Sequence[Wanted]) -> Hashes:
        passwords: dict[int | None, str] = {
            one.said.row: one.said.password for one in wanted if one.said.password is not None
        }
        if any(one.before is None and one.said.password is None for one in wanted):
            # Nobody knows it, not even whoever imports; one for all says no more than that they have none.
            passwords[None] = secrets.token_urlsafe(_RANDOM_BYTES)
        hashes = await self._passwords.hash_all(list(passwords.values()))
        return dict(zip(passwords, hashes, strict=True))

    async def _follow(self, edits: Sequence[Edit]) -> None:
        for edit in edits:
            if edit.before.status == edit.after.status:
                continue
            # After the commit: a login that has read the old status then meets the ban.
            if edit.after.status == "disabled":
                await self._revocations.ban(edit.target, REASON, user_name=edit.after.user_name)
            else:
                await self._revocations.unban(edit.target, user_name=edit.after.user_name)
        await self._revocations.mark_all([edit.after.id for edit in edits if edit.felt])


async def _save(work: _Work, wanted: Sequence[Wanted]) -> None:
    work.faults.demand_none()  # somebody may have changed users since the rows were looked at first
    await _create(work, [one for one in wanted if one.before is None])
    for one in wanted:
        if one.before is not None and one.changes:
            await _edit(work, one, one.before)
        elif one.before is not None:
            work.done.append(ImportedRow(one.said.row, one.said.user_name, "unchanged"))
    work.faults.demand_none()
    work.done.sort(key=attrgetter("row"))


async def _create(work: _Work, wanted: Sequence[Wanted]) -> None:
    """Write the new users all at once; the roles, which exist, are asked about once for each set of them."""
    by_roles: dict[tuple[int, ...], list[Wanted]] = {}
    for one in wanted:
        by_roles.setdefault(tuple(sorted(one.role_ids or ())), []).append(one)
    for role_ids, alike in by_roles.items():
        try:
            await work.giver.demand_roles(work.connection, role_ids)
        except PermissionDenied as refusal:
            for one in alike:
                work.faults.note(one.said.row, "roles", refusal)
    rows = {one.said.key: NewRow(one.values, work.hash_of(one), one.role_ids or ()) for one in wanted}
    written = await user_tables.create_all(work.connection, rows.values())
    for one in wanted:
        if one.said.key not in written:
            work.faults.note(one.said.row, "userName", Conflict(TAKEN))
        note = WITHOUT_PASSWORD if one.said.password is None else None
        work.done.append(ImportedRow(one.said.row, one.said.user_name, "created", note=note))


async def _edit(work: _Work, one: Wanted, before: User) -> None:
    with work.faults.of(one.said.row, "userName"):
        target = await work.giver.target(work.connection, before.id)
        with work.faults.of(one.said.row, "roles", "status"):
            edit = await account_edits.edit(
                work.connection, work.giver, target, before, one.values, role_ids=one.role_ids
            )
            work.edits.append(edit)
            work.done.append(ImportedRow(one.said.row, one.said.user_name, "updated", one.changes))
