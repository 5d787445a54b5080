"""Import of roles from a table."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from service.administration import change_log, suspended_rules
from service.administration.change_log import check_record, check_values
from service.administration.lasting import FOR_GOOD
from service.administration.role_edits import NO_BUTTON, unknown, with_buttons
from service.errors import ValidationFailed
from service.features.bulk_acts.many_rows import RowFaults, add_duplicate_faults
from service.features.tables.sentences import sentence
from service.features.tables.table_import import TableImport, TableRow, Work
from service.kernel.identity import Caller
from service.kernel.origin import field_changes
from service.records import request_rules, role_rights, roles
from service.records.database.transactions import Connection
from service.records.roles import CodedRole, MenuTree, RoleValues

_GIVEN = "permissions"


@dataclass(slots=True)
class _Roles:
    """The state of a running import of roles: the menu tree, and the roles with changed rights."""

    work: Work
    tree: MenuTree
    changed: set[int]


class RoleImport(TableImport[None, set[int]]):
    """Imports roles, identified by code.

    Permissions are codes of Buttons. Menus, which only show pages, are not in the table: a role keeps its
    Menus, and gets those above its new Buttons.
    """

    async def _prepare(self, caller: Caller, rows: Sequence[TableRow], *, dry_run: bool) -> None:  # noqa: ARG002 - nothing to spare
        faults = RowFaults()
        add_duplicate_faults(faults, "roleCode", ((table_row.row, table_row.name) for table_row in rows))
        faults.require_none()

    async def _save(self, work: Work, rows: Sequence[TableRow], _prepared: None) -> set[int]:
        under_way = _Roles(work, await roles.menu_tree(work.connection), set())
        known = await roles.by_code(work.connection, [table_row.name for table_row in rows])
        for table_row in rows:
            with work.faults.of(table_row.row, "roleCode"):
                if (before := known.get(table_row.name)) is None:
                    await _create(under_way, table_row)
                else:
                    await _update(under_way, before, table_row)
        return under_way.changed

    async def _affected(self, connection: Connection, changed: set[int]) -> list[int]:
        return await role_rights.in_roles(connection, changed)


async def _create(under_way: _Roles, table_row: TableRow) -> None:
    values = RoleValues(**{"role_name": "", **table_row.values})
    check_record(values)
    made = await roles.create(under_way.work.connection, table_row.name, values)
    await _give(under_way, made.id, table_row)
    fields = change_log.role_fields(made, table_row.codes or ())
    under_way.work.changes += field_changes(change_log.role_target(table_row.name), {}, fields)
    under_way.work.tell(table_row, "created")


async def _update(under_way: _Roles, before: CodedRole, table_row: TableRow) -> None:
    work, values = under_way.work, table_row.differing(before)
    gives = table_row.codes is not None and set(table_row.codes) != set(before.permissions)
    if not values and not gives:
        work.tell(table_row, "unchanged")
        return
    enabling = values.get("enabled", before.enabled) and not before.enabled
    until = FOR_GOOD if enabling else None
    reach = await work.check.require_roles(work.connection, [before.id], until=until)
    check_values(RoleValues, values)
    if "enabled" in values and await request_rules.of_role(work.connection, before.id) is not None:
        raise ValidationFailed(("enabled", sentence("role_with_rule")))
    if values:
        await roles.update(work.connection, before.id, values)
    if gives:
        await _give(under_way, before.id, table_row)
        await suspended_rules.require_standing(work.connection, work.check, before.id, reach)
    if gives or "enabled" in values:
        under_way.changed.add(before.id)
    saved = replace(
        before, **values, permissions=before.permissions if table_row.codes is None else table_row.codes
    )
    fields = (change_log.role_fields(role, role.permissions) for role in (before, saved))
    work.changes += field_changes(change_log.role_target(table_row.name), *fields)
    work.tell(table_row, "updated", [*values, *([_GIVEN] if gives else [])])


async def _give(under_way: _Roles, role_id: int, table_row: TableRow) -> None:
    """Give a role the Buttons of the row, with the Menus above the new ones."""
    work, codes = under_way.work, table_row.codes or ()
    places = unknown(under_way.tree, codes)
    for place in places:
        work.faults.add(table_row.row, f"{_GIVEN}[{place}]", NO_BUTTON)
    if places:
        return
    before = await roles.given(work.connection, role_id)
    menus = with_buttons(under_way.tree, codes, before)
    with work.faults.of(table_row.row, _GIVEN):
        await work.check.require_menus(work.connection, menus)
        given_ids = set(menus).difference(menu.id for menu in before)
        await work.check.require_menus(work.connection, given_ids, until=FOR_GOOD)
        await roles.set_menus(work.connection, role_id, menus)
