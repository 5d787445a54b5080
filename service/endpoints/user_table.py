"""Users as tables: ``/api/user/export`` and ``/api/user/import``."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Annotated, Final, Literal, cast

from msgspec import UNSET, Meta, UnsetType

from service.administration.account_rules import (
    MAX_AVATAR,
    MAX_EMAIL,
    MAX_PHONE,
    MAX_ROLES,
    AccountValues,
)
from service.administration.user_import import UserImport
from service.administration.user_rows import UserRow
from service.errors import Conflict, RowsRefused
from service.kernel.names import MAX_NAME_LENGTH
from service.records import user_tables
from service.records.database import Database
from service.records.user_list import User
from service.web.call import Call
from service.web.imports import ExportQuery, ImportQuery, ImportReport, report_of
from service.web.marks import logged, needs, refuses, sends
from service.web.streams import Stream
from service.web.table_files import JSON, table_file
from service.web.tables import CSV, MAX_ROWS, Table
from service.web.wire import Wire

_AT_ONCE: Final = 500  # rows of an export between two turns of the database

Gender = Literal["female", "male", "other"]
Status = Literal["enabled", "disabled"]
Name = Annotated[str, Meta(max_length=MAX_NAME_LENGTH, examples=["heron"])]
RoleCode = Annotated[str, Meta(max_length=64, examples=["auditor"])]


class ExportedUser(Wire):
    """A user without anything that only this installation knows, and without a password or its hash."""

    user_name: str
    nick_name: str
    email: str | None
    phone: str | None
    gender: Gender | None
    avatar: str | None
    status: Status
    roles: list[str]


class ExportedUsers(Table):
    """All users, in the order in which they were made."""

    users: list[ExportedUser]


class ImportedUser(Wire):
    """A user, known by `userName`. What is left out stays as it is; `roles` are the codes of all roles."""

    user_name: Name
    nick_name: Name | UnsetType = UNSET
    email: Annotated[str, Meta(max_length=MAX_EMAIL)] | UnsetType | None = UNSET
    phone: Annotated[str, Meta(max_length=MAX_PHONE)] | UnsetType | None = UNSET
    gender: Gender | UnsetType | None = UNSET
    avatar: Annotated[str, Meta(max_length=MAX_AVATAR)] | UnsetType | None = UNSET
    status: Status | UnsetType = UNSET
    roles: Annotated[list[RoleCode], Meta(max_length=MAX_ROLES)] | UnsetType = UNSET
    password: (
        Annotated[str, Meta(min_length=1, max_length=1024, description="Of a new user only.")] | UnsetType
    ) = UNSET


class ImportedUsers(Table):
    """Users to create or to edit."""

    users: Annotated[list[ImportedUser], Meta(max_length=MAX_ROWS)]


class UserExport:
    """``/api/user/export``."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @needs("system:user:export")
    @sends(CSV, JSON)
    @logged("user", "export", "EXPORT", response=False)
    async def on_get(self, call: Call, query: ExportQuery) -> Stream:
        """Export all users, without their passwords."""
        return table_file(self._batches(), ExportedUsers, query.format, "users")

    async def _batches(self) -> AsyncGenerator[list[ExportedUser], None]:
        last = 0
        while True:
            async with self._database.snapshot() as connection:
                found = await user_tables.after(connection, last, _AT_ONCE)
            yield [_exported(one) for one in found]
            if len(found) < _AT_ONCE:
                return
            last = found[-1].id


class UserTableImport:
    """``/api/user/import``."""

    def __init__(self, imports: UserImport) -> None:
        self._imports = imports

    @needs("system:user:import")
    @logged("user", "import", "IMPORT", params=False)
    @refuses(Conflict, RowsRefused)
    async def on_post(self, call: Call, body: ImportedUsers, query: ImportQuery) -> ImportReport:
        """Create and edit users from a table, all of them or none.

        A user is known by the name, in any case. Nobody edits a user who holds more than they do, or gives a
        role that does. A new user without a password is disabled; passwords of others are not set here.
        Every row that can't be saved is named by its number.
        """
        rows = [_row(number, one) for number, one in enumerate(body.users, 1)]
        done = await self._imports.run(call.user, rows, dry_run=query.dry_run)
        return report_of(done, dry_run=query.dry_run)


def _exported(one: User) -> ExportedUser:
    return ExportedUser(
        one.user_name,
        one.nick_name,
        one.email,
        one.phone,
        one.gender,
        one.avatar,
        one.status,
        [role.role_code for role in one.roles],
    )


def _row(number: int, one: ImportedUser) -> UserRow:
    said = one.given()
    user_name, roles, password = said.pop("user_name"), said.pop("roles", None), said.pop("password", None)
    codes = None if roles is None else tuple(roles)
    return UserRow(number, user_name, cast(AccountValues, said), codes, password)
