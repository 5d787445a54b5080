"""Users as tables: ``/api/user/export`` and ``/api/user/import``."""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from service.administration.account_rules import MAX_ROLES
from service.administration.user_import import UserImport
from service.endpoints.user import Name, UserFields
from service.errors import Conflict, RowsRefused
from service.records import user_tables
from service.records.database import Database
from service.records.paging import batches
from service.web.call import Call
from service.web.imports import ExportQuery, ImportQuery, ImportReport, report_of, table_rows
from service.web.marks import logged, needs, refuses, sends
from service.web.streams import Stream
from service.web.table_files import JSON, table_file
from service.web.tables import CSV, MAX_ROWS, Table

RoleCode = Annotated[str, Meta(max_length=64, examples=["auditor"])]


class ImportedUser(UserFields, kw_only=True):
    """A user, known by `userName`. What is left out stays as it is; `roles` are the codes of all roles."""

    user_name: Name
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
        users = batches(self._database, user_tables.after)
        return table_file(users, ImportedUsers, query.format, "users", without=["password"])


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
        rows = table_rows(body.users, name="user_name", codes="roles")
        done = await self._imports.run(call.user, rows, dry_run=query.dry_run)
        return report_of(done, dry_run=query.dry_run)
