"""Users and roles as tables: ``/api/user/export``, ``/api/role/export``, and the imports."""

from functools import partial
from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from service.administration.user_edits import MAX_ROLES
from service.endpoints.record_endpoints import Endpoint
from service.endpoints.roles import page_options
from service.endpoints.users import UserName
from service.errors import Conflict, RowsRefused
from service.features.tables import table_files
from service.features.tables.role_import import RoleImport
from service.features.tables.table_bodies import CSV, MAX_ROWS, Table
from service.features.tables.user_import import UserImport
from service.kernel.codes import MOST_LINKED
from service.kernel.identity import Kind
from service.records import roles, user_list
from service.records.database.paging import batches
from service.records.database.transactions import Database
from service.records.roles import RoleCode, RoleValues
from service.records.user_list import UserValues
from service.web.content.streams import JSON, JSON_LINES, XLSX, Stream
from service.web.messages.context import RequestContext
from service.web.messages.operation_metadata import by_session, logged, needs, sends, writes
from service.web.messages.record_schemas import body_of, filters_of
from service.web.messages.schema import Schema

RoleOfUser = Annotated[str, Meta(max_length=64, examples=["auditor"])]


@body_of(UserValues, "in_tables", before="kind", left_out="unset")
class ImportedUser(Schema, kw_only=True):
    """A user, identified by `userName`. Omitted fields are unchanged; `roles` are the codes of all roles."""

    user_name: UserName
    kind: Annotated[Kind, Meta(description="For new users only.")] | UnsetType = UNSET
    roles: Annotated[list[RoleOfUser], Meta(max_length=MAX_ROLES)] | UnsetType = UNSET
    password: (
        Annotated[str, Meta(min_length=1, max_length=1024, description="For new users only.")] | UnsetType
    ) = UNSET


class ImportedUsers(Table):
    """Users to create or to edit."""

    users: Annotated[list[ImportedUser], Meta(max_length=MAX_ROWS)]


@filters_of(user_list.UserFilter)
class UserExportQuery(table_files.ExportQuery):
    """Filters of the exported users, and the format of the file."""


class UserExport(Endpoint[Database], at="/api/user/export"):
    @needs("system:user:export", name="exportUsers")
    @logged("export", "EXPORT", keeps="params")
    @sends(CSV, JSON, JSON_LINES, XLSX, of=ImportedUsers)
    async def on_get(self, context: RequestContext, query: UserExportQuery) -> Stream:
        """Export the users that match the filters, by default all, without their passwords."""
        after = partial(user_list.after, criteria=query.filter(user_list.UserFilter))
        users = batches(self.part, after)
        return table_files.table_file(users, ImportedUsers, query.form, "users", without=["password"])


class UserTableImport(Endpoint[UserImport], at="/api/user/import"):
    @needs("system:user:import", name="importUsers", refuses=[Conflict, RowsRefused])
    @writes(
        "import",
        "IMPORT",
        keeps="response",
        example={"users": [{"userName": "egret", "nickName": "Egret", "roles": ["auditor"]}]},
        refuses_keys=table_files.NO_KEYS,
    )
    async def on_post(
        self, context: RequestContext, body: ImportedUsers, query: table_files.ImportQuery
    ) -> table_files.ImportReport:
        """Create and edit users from a table, all of them or none.

        Users are identified by name, in any case. Callers can't edit users with more permissions than their
        own, or assign roles with permissions that they lack. A new person without a password is to be
        invited; passwords of existing users can't be set here. A refusal lists each faulty row with its
        number.
        """
        rows = table_files.table_rows(body.users, body.numbers, name="user_name", codes="roles")
        done = await self.part.run(context.user, rows, dry_run=query.dry_run)
        return table_files.report_of(done, dry_run=query.dry_run)


Permission = Annotated[str, Meta(max_length=128, examples=["system:role:list"])]


@body_of(RoleValues, "in_tables", before="permissions", left_out="unset")
class ImportedRole(Schema):
    """A role, identified by `roleCode`. Omitted fields are unchanged, or empty for a new role."""

    role_code: RoleCode
    permissions: Annotated[list[Permission], Meta(max_length=MOST_LINKED)] | UnsetType = UNSET


class ImportedRoles(Table):
    """Roles to create or to edit."""

    roles: Annotated[list[ImportedRole], Meta(max_length=MAX_ROWS)]


@filters_of(roles.RoleFilter)
class RoleExportQuery(table_files.ExportQuery):
    """Filters of the exported roles, and the format of the file."""


class RoleExport(Endpoint[Database], at="/api/role/export"):
    @needs("system:role:export", name="exportRoles")
    @logged("export", "EXPORT", keeps="params")
    @sends(CSV, JSON, JSON_LINES, XLSX, of=ImportedRoles)
    async def on_get(self, context: RequestContext, query: RoleExportQuery) -> Stream:
        """Export the roles that match the filters, by default all."""
        filters = query.filter(roles.RoleFilter)
        page_options(context, filters)  # a filter may need another right
        after = partial(roles.after, criteria=filters)
        return table_files.table_file(batches(self.part, after), ImportedRoles, query.form, "roles")


class RoleTableImport(Endpoint[RoleImport], at="/api/role/import"):
    @needs("system:role:import", name="importRoles", refuses=[Conflict, RowsRefused])
    @by_session("change-access")
    @writes(
        "import",
        "IMPORT",
        example={
            "roles": [{"roleCode": "reporter", "roleName": "Reporter", "permissions": ["system:role:list"]}]
        },
        refuses_keys=table_files.NO_KEYS,
    )
    async def on_post(
        self, context: RequestContext, body: ImportedRoles, query: table_files.ImportQuery
    ) -> table_files.ImportReport:
        """Create and edit roles from a table, all of them or none.

        Roles are identified by code. Callers can't edit roles with permissions that they lack, or add such
        permissions. A refusal lists each faulty row with its number. Menus are not in the table: a role keeps
        its Menus, and gets those above its new Buttons.
        """
        rows = table_files.table_rows(body.roles, body.numbers, name="role_code", codes="permissions")
        done = await self.part.run(context.user, rows, dry_run=query.dry_run)
        return table_files.report_of(done, dry_run=query.dry_run)
