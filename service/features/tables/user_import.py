"""Import of users from a table."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from service.administration import change_log
from service.administration import user_edits as account_edits
from service.administration.change_log import check_values
from service.administration.lasting import FOR_GOOD
from service.administration.role_demands import NOT_PLAIN
from service.administration.user_edits import AccountValues, AddressChanged, Edit, created_by
from service.authn.password_rules import PasswordRules
from service.authn.passwords import Passwords
from service.errors import Conflict, PermissionDenied
from service.features.bulk_acts.many_rows import RowFaults, add_duplicate_faults
from service.features.tables.sentences import sentence
from service.features.tables.table_import import TableImport, TableRow, Work
from service.kernel.cooperative_yield import CooperativeYield, cooperatively
from service.kernel.identity import Caller
from service.kernel.notify import Notices
from service.kernel.text import name_key
from service.records import accounts, user_list
from service.records.accounts import TAKEN, NewRow
from service.records.database.transactions import Connection
from service.records.user_list import Directory, User, UserValues

Hashes = Mapping[int, str | None]
"""The password hash of each row with a new user, by row number; None without a password."""


@dataclass(frozen=True, eq=False, repr=False)
class UserImport(TableImport[Hashes | None, list[Edit]]):
    """Imports users, identified by name.

    A new person without a password has none: the person is to be invited, or gets one set.
    """

    passwords: Passwords
    rules: PasswordRules
    address_changed: AddressChanged
    notices: Notices

    async def _prepare(self, caller: Caller, rows: Sequence[TableRow], *, dry_run: bool) -> Hashes | None:
        """Return the hashes, if all rows are valid by themselves; None for a dry run."""
        faults = RowFaults()
        async with self.database.snapshot() as connection:
            users = await self._wanted(connection, rows, faults, caller.service)
        await asyncio.to_thread(check_passwords, users, self.rules, faults)
        faults.require_none()
        return None if dry_run else await self._hashes(users)

    async def _save(self, work: Work, rows: Sequence[TableRow], prepared: Hashes | None) -> list[Edit]:
        users = await self._wanted(work.connection, rows, work.faults, work.check.bound_to)
        work.faults.require_none()  # users may have changed since the rows were checked first
        await _create(work, [user for user in users if user.before is None], prepared)
        edits: list[Edit] = []
        for user in users:
            if user.before is not None and user.changes:
                await _edit(work, user, user.before, edits, self.notices)
                if edits and edits[-1].after.id == user.before.id:
                    by = work.check.acting_id
                    await self.address_changed(work.connection, user.before, edits[-1].after, by)
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
            await self.revocations.settle_status(
                edit.target, user_name=edit.after.user_name, disabled=disabled
            )

    async def _wanted(
        self, connection: Connection, rows: Sequence[TableRow], faults: RowFaults, bound_to: str | None
    ) -> list[Wanted]:
        codes = {code for row in rows for code in row.codes or ()}
        known = await user_list.directory(connection, {name_key(row.name) for row in rows}, codes)
        return await asyncio.to_thread(wanted_by, rows, known, faults, bound_to)

    async def _hashes(self, users: Sequence[Wanted]) -> Hashes:
        new = [user.given for user in users if user.before is None]
        passwords = {row.row: row.password for row in new if row.password is not None}
        hashes = await self.passwords.hash_all(list(passwords.values()))
        return {**dict.fromkeys(row.row for row in new), **dict(zip(passwords, hashes, strict=True))}


async def _create(work: Work, users: Sequence[Wanted], hashes: Hashes | None) -> None:
    """Write all new users together; the existing roles are checked once for each distinct set."""
    by_roles: dict[tuple[int, ...], list[Wanted]] = {}
    rows: dict[str, NewRow] = {}
    others = CooperativeYield()
    for user in users:
        await others.after_item()
        password_hash = _hash_of(user, hashes)
        with work.faults.of(user.given.row, "service"):
            account = work.check.new_account(user.values)
            rows[user.key] = NewRow(account, password_hash, user.role_ids or ())
        by_roles.setdefault(tuple(sorted(user.role_ids or ())), []).append(user)
    for role_ids, alike in by_roles.items():
        try:
            await work.check.require_roles(work.connection, role_ids, until=FOR_GOOD)
        except PermissionDenied as refusal:
            for user in alike:
                work.faults.note(user.given.row, "roles", refusal)
    written = await accounts.create_all(work.connection, rows.values())
    made = [
        written[user.key]
        for user in users
        if user.key in written and account_edits.creator_can_sign_in(user.values, user.given.password)
    ]
    await work.check.take_over(work.connection, made, "made")
    for user in users:
        await others.after_item()
        if user.key in rows and user.key not in written:
            work.faults.note(user.given.row, "userName", Conflict(TAKEN, rule="unique"))
        work.changes += change_log.imported_user(UserValues(**user.values), user.given.codes or ())
        without = user.is_person and user.given.password is None
        work.tell(user.given, "created", note=WITHOUT_PASSWORD if without else None)


def _hash_of(user: Wanted, hashes: Hashes | None) -> str | None:
    """Return the hash of the password of a new user, None without a password; an empty one in a dry run."""
    if hashes is None:
        return None if user.given.password is None else ""
    if user.given.row not in hashes:  # the user existed when the passwords were hashed
        raise Conflict(sentence("users_deleted_meanwhile"), rule="changed_meanwhile")
    return hashes[user.given.row]


async def _edit(work: Work, user: Wanted, before: User, edits: list[Edit], notices: Notices) -> None:
    with work.faults.of(user.given.row, "userName"):
        target = await work.check.target(work.connection, before.id, "edit")
        with work.faults.of(user.given.row, "roles", "status"):
            edit = await account_edits.edit(
                work.connection,
                work.check,
                target,
                before,
                user.values,
                notices=notices,
                role_ids=user.role_ids,
            )
            edits.append(edit)
            work.changes += change_log.edited_user(edit.before, edit.after)
            work.tell(user.given, "updated", user.changes)


WITHOUT_PASSWORD: Final = sentence("created_without_password")


@dataclass(frozen=True, slots=True)
class Wanted:
    """The changes of a row: for an existing user, the differences only; ``role_ids`` None keeps the roles."""

    given: TableRow
    before: User | None
    values: AccountValues
    role_ids: tuple[int, ...] | None

    @property
    def key(self) -> str:
        """The key for comparing names."""
        return name_key(self.given.name)

    @property
    def is_person(self) -> bool:
        return bool(self.values.get("kind", "person") == "person")

    @property
    def changes(self) -> tuple[str, ...]:
        """The fields that would change."""
        return (*self.values, *(() if self.role_ids is None else ("roles",)))


def wanted_by(
    rows: Sequence[TableRow], known: Directory, faults: RowFaults, bound_to: str | None
) -> list[Wanted]:
    """Return the changes of each row, and add the faults of rows, except those of passwords.

    ``bound_to`` is the service that the caller is bound to, None for none. Not for the event loop.
    """
    add_duplicate_faults(
        faults, "userName", ((table_row.row, name_key(table_row.name)) for table_row in rows)
    )
    users = []
    for table_row in cooperatively(rows):
        before = known.users.get(name_key(table_row.name))
        role_ids = _role_ids(table_row, before, known, faults)
        if before is None:
            users.append(_new(table_row, role_ids, faults, bound_to))
        else:
            users.append(_edited(table_row, before, role_ids, faults))
    return users


def check_passwords(users: Iterable[Wanted], rules: PasswordRules, faults: RowFaults) -> None:
    """Add a fault for each refused password of a new user; a thousand take some seconds."""
    for user in users:
        if user.before is None and user.given.password is not None:
            owner = UserValues(**{"nick_name": "", **user.values})  # without one, it is a fault of the row
            with faults.of(user.given.row, "password"):
                rules.check("password", user.given.password, owner)


def _role_ids(
    table_row: TableRow, before: User | None, known: Directory, faults: RowFaults
) -> tuple[int, ...] | None:
    if table_row.codes is None:
        return None
    had = set() if before is None else {role.id for role in before.roles}
    for place, code in enumerate(table_row.codes):
        if code not in known.roles:
            faults.add(table_row.row, f"roles[{place}]", sentence("no_such_role"))
        elif known.roles[code] in known.demanding and known.roles[code] not in had:
            faults.add(table_row.row, f"roles[{place}]", NOT_PLAIN)
    return tuple(dict.fromkeys(known.roles[code] for code in table_row.codes if code in known.roles))


def _new(
    table_row: TableRow, role_ids: tuple[int, ...] | None, faults: RowFaults, bound_to: str | None
) -> Wanted:
    values = {"user_name": table_row.name, **created_by(bound_to, table_row.values)}
    if "nick_name" not in values:
        faults.add(table_row.row, "nickName", sentence("nick_name_of_new_user"))
    with faults.of(table_row.row, "userName"):
        check_values(UserValues, values)
    kind = values.get("kind", "person")
    with faults.of(table_row.row, "service"):
        account_edits.require_kind(kind, values)
    if kind == "service" and table_row.password is not None:
        faults.add(table_row.row, "password", sentence("password_of_service_row"))
    return Wanted(table_row, None, values, role_ids or ())


def _edited(table_row: TableRow, before: User, role_ids: tuple[int, ...] | None, faults: RowFaults) -> Wanted:
    if table_row.password is not None:
        faults.add(
            table_row.row,
            "password",
            sentence("password_of_existing_user"),
        )
    differing = table_row.differing(before)
    with faults.of(table_row.row, "userName"):
        check_values(UserValues, differing)
    with faults.of(table_row.row, "kind", "service"):
        account_edits.require_kind(before.kind, differing)
    if role_ids is not None and set(role_ids) == {role.id for role in before.roles}:
        role_ids = None
    return Wanted(table_row, before, differing, role_ids)
