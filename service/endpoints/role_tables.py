"""Roles as tables: ``/api/role/export`` and ``/api/role/import``."""

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from service.administration.role_import import RoleImport
from service.errors import Conflict, RowsRefused
from service.records import roles
from service.records.database.paging import batches
from service.records.database.transactions import Database
from service.records.roles import RoleCode, RoleValues
from service.web.content import table_files
from service.web.content.streams import JSON, JSON_LINES, Stream
from service.web.content.tables import CSV, MAX_ROWS, Table
from service.web.messages import operation_metadata as operation
from service.web.messages.context import RequestContext
from service.web.messages.record_schemas import body_of
from service.web.messages.schema import Schema

Permission = Annotated[str, Meta(max_length=128, examples=["system:role:list"])]


@body_of(RoleValues, "in_tables", before="permissions", left_out="unset")
class ImportedRole(Schema):
    """A role, identified by `roleCode`. Omitted fields are unchanged, or empty for a new role."""

    role_code: RoleCode
    permissions: Annotated[list[Permission], Meta(max_length=1000)] | UnsetType = UNSET


class ImportedRoles(Table):
    """Roles to create or to edit."""

    roles: Annotated[list[ImportedRole], Meta(max_length=MAX_ROWS)]


class RoleExport:
    """``/api/role/export``."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @operation.needs("system:role:export")
    @operation.sends(CSV, JSON, JSON_LINES, of=ImportedRoles)
    @operation.logged("role", "export", "EXPORT", response=False)
    @operation.named("exportRoles")
    async def on_get(self, context: RequestContext, query: table_files.ExportQuery) -> Stream:
        """Export all roles."""
        return table_files.table_file(
            batches(self._database, roles.after), ImportedRoles, query.format, "roles"
        )


class RoleTableImport:
    """``/api/role/import``."""

    def __init__(self, imports: RoleImport) -> None:
        self._imports = imports

    @operation.needs("system:role:import")
    @operation.logged("role", "import", "IMPORT")
    @operation.refuses(Conflict, RowsRefused)
    @operation.example_body(
        {"roles": [{"roleCode": "reporter", "roleName": "Reporter", "permissions": ["system:role:list"]}]}
    )
    @operation.named("importRoles")
    @operation.refuses_keys(table_files.NO_KEYS)
    async def on_post(
        self, context: RequestContext, body: ImportedRoles, query: table_files.ImportQuery
    ) -> table_files.ImportReport:
        """Create and edit roles from a table, all of them or none.

        Roles are identified by code. Callers can't edit roles with permissions that they lack, or give such
        permissions. Every row that can't be saved is listed with its number. Menus are not in the table: a
        role keeps its Menus, and gets those above its new Buttons.
        """
        rows = table_files.table_rows(body.roles, name="role_code", codes="permissions")
        done = await self._imports.run(context.user, rows, dry_run=query.dry_run)
        return table_files.report_of(done, dry_run=query.dry_run)
