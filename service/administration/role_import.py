"""Import of roles from a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from service.administration import change_log
from service.administration.given_roles import NO_BUTTON, unknown, with_buttons
from service.administration.import_rows import RowFaults, once_each
from service.administration.table_import import TableImport, TableRow, Work
from service.administration.value_check import check_record, check_values
from service.kernel.change_record import field_changes
from service.kernel.identity import Caller
from service.records import role_rights, role_tables, roles
from service.records.database.transactions import Connection
from service.records.role_tables import CodedRole, MenuTree
from service.records.roles import RoleValues

_GIVEN = "permissions"


@dataclass(slots=True)
class _Roles:
    """State of a running import of roles: the tree of menus, and the roles whose rights have changed."""

    work: Work
    tree: MenuTree
    changed: set[int]


class RoleImport(TableImport[None, set[int]]):
    """Imports roles, which are identified by code.

    Permissions are given as codes of Buttons. Menus, which only show pages, are not in the table: a role
    keeps its Menus, and gets those above its new Buttons.
    """

    async def _prepare(self, caller: Caller, rows: Sequence[TableRow], *, dry_run: bool) -> None:  # noqa: ARG002 - nothing to spare
        faults = RowFaults()
        once_each(faults, "roleCode", ((one.row, one.name) for one in rows))
        faults.require_none()

    async def _save(self, work: Work, rows: Sequence[TableRow], _prepared: None) -> set[int]:
        under_way = _Roles(work, await role_tables.menu_tree(work.connection), set())
        known = await role_tables.by_code(work.connection, [one.name for one in rows])
        for one in rows:
            with work.faults.of(one.row, "roleCode"):
                if (before := known.get(one.name)) is None:
                    await _create(under_way, one)
                else:
                    await _update(under_way, before, one)
        return under_way.changed

    async def _affected(self, connection: Connection, changed: set[int]) -> list[int]:
        return await role_rights.in_roles(connection, changed)


async def _create(under_way: _Roles, one: TableRow) -> None:
    values = RoleValues(**{"role_name": "", **one.values})
    check_record(values)
    made = await roles.create(under_way.work.connection, one.name, values)
    await _give(under_way, made.id, one)
    fields = change_log.role_fields(made, one.codes or ())
    under_way.work.changes += field_changes(change_log.role_target(one.name), {}, fields)
    under_way.work.tell(one, "created")


async def _update(under_way: _Roles, before: CodedRole, one: TableRow) -> None:
    work, values = under_way.work, one.differing(before)
    gives = one.codes is not None and set(one.codes) != set(before.permissions)
    if not values and not gives:
        work.tell(one, "unchanged")
        return
    await work.check.require_roles(work.connection, [before.id])
    check_values(RoleValues, values)
    if values:
        await roles.update(work.connection, before.id, values)
    if gives:
        await _give(under_way, before.id, one)
    if gives or "enabled" in values:
        under_way.changed.add(before.id)
    saved = replace(before, **values, permissions=before.permissions if one.codes is None else one.codes)
    fields = (change_log.role_fields(role, role.permissions) for role in (before, saved))
    work.changes += field_changes(change_log.role_target(one.name), *fields)
    work.tell(one, "updated", [*values, *([_GIVEN] if gives else [])])


async def _give(under_way: _Roles, role_id: int, one: TableRow) -> None:
    """Give a role the Buttons of the row, with the Menus above the new ones."""
    work, codes = under_way.work, one.codes or ()
    places = unknown(under_way.tree, codes)
    for place in places:
        work.faults.add(one.row, f"{_GIVEN}[{place}]", NO_BUTTON)
    if places:
        return
    menus = with_buttons(under_way.tree, codes, await roles.given(work.connection, role_id))
    with work.faults.of(one.row, _GIVEN):
        await work.check.require_menus(work.connection, menus)
        await roles.set_menus(work.connection, role_id, menus)
