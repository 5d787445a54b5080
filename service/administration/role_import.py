"""Many roles in one transaction, with the guards of single changes for each row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from service.administration.administrators import keeping_an_administrator
from service.administration.delegation import Grantor, grantor
from service.administration.import_rows import WITHIN, DryRun, ImportedRow, RowFaults, once_each, undo_if
from service.administration.roles import check_role
from service.authn.revocations import Revocations
from service.kernel.identity import Caller
from service.records import rights, role_tables, roles
from service.records.database import Connection, Database
from service.records.role_tables import CodedRole, MenuTree
from service.records.roles import RoleValues

_FIELDS: Final = {
    "role_name": "roleName",
    "description": "description",
    "enabled": "enabled",
    "permissions": "permissions",
}


@dataclass(frozen=True, slots=True)
class RoleRow:
    """What a row says of a role; ``says`` are the names of those fields that it says something of."""

    row: int
    role_code: str
    says: frozenset[str]
    role_name: str = ""
    description: str | None = None
    enabled: bool = True
    permissions: tuple[str, ...] = ()


@dataclass(slots=True)
class _Work:
    """An import under way: in ``connection``, on behalf of ``giver``."""

    connection: Connection
    giver: Grantor
    tree: MenuTree
    faults: RowFaults
    done: list[ImportedRow] = field(default_factory=list)
    felt: set[int] = field(default_factory=set)


class RoleImport:
    """Creates the roles that there are not, and edits those that differ; all rows, or none.

    Permissions are named by the codes of Buttons. Menus, which only show pages, are not in the table: a role
    keeps those that it has, and gets those above the Buttons that it is given.
    """

    def __init__(self, database: Database, revocations: Revocations) -> None:
        self._database = database
        self._revocations = revocations

    async def run(self, caller: Caller, rows: Sequence[RoleRow], *, dry_run: bool) -> list[ImportedRow]:
        """Save the rows, unless ``dry_run``; return what came of each, or would.

        Raises ``RowsRefused`` with the faults of all rows; ``Conflict`` when nobody would be left who may do
        everything; ``RefreshRequired`` and ``Unavailable``.
        """
        faults = RowFaults()
        once_each(faults, "roleCode", ((one.row, one.role_code) for one in rows))
        faults.demand_none()
        try:
            async with self._database.transaction(within=WITHIN) as connection:
                async with keeping_an_administrator(connection):
                    giver = await grantor(connection, caller)
                    work = _Work(connection, giver, await role_tables.menu_tree(connection), faults)
                    await _save(work, rows)
                undo_if(dry_run=dry_run, done=work.done)
                affected = await rights.in_roles(connection, work.felt)
                await self._revocations.mark_first(affected)
        except DryRun as undone:
            return undone.done
        await self._revocations.mark_all(affected)
        return work.done


async def _save(work: _Work, rows: Sequence[RoleRow]) -> None:
    known = await role_tables.by_code(work.connection, [one.role_code for one in rows])
    for one in rows:
        before = known.get(one.role_code)
        if before is None:
            with work.faults.of(one.row, "roleCode"):
                await _create(work, one)
        elif changes := _changes(before, one):
            with work.faults.of(one.row, "roleCode"):
                await _update(work, before, one, changes)
        else:
            work.done.append(ImportedRow(one.row, one.role_code, "unchanged"))
    work.faults.demand_none()


async def _create(work: _Work, one: RoleRow) -> None:
    values = RoleValues(role_name=one.role_name, description=one.description, enabled=one.enabled)
    check_role(values.role_name)
    made = await roles.create(work.connection, one.role_code, values)
    await _give(work, made.id, one, [])
    work.done.append(ImportedRow(one.row, one.role_code, "created"))


async def _update(work: _Work, before: CodedRole, one: RoleRow, changes: tuple[str, ...]) -> None:
    await work.giver.demand_roles(work.connection, [before.id])
    values = {name: getattr(one, name) for name in changes if name != "permissions"}
    if "role_name" in values:
        check_role(values["role_name"])
    if values:
        await roles.update(work.connection, before.id, values)
    if "permissions" in changes:
        await _give(work, before.id, one, before.permissions)
    if {"permissions", "enabled"} & set(changes):
        work.felt.add(before.id)
    work.done.append(ImportedRow(one.row, one.role_code, "updated", tuple(_FIELDS[name] for name in changes)))


async def _give(work: _Work, role_id: int, one: RoleRow, had: Sequence[str]) -> None:
    """Give the Buttons of the row in place of those of ``had``, with the Menus above those that are new."""
    unknown = [place for place, code in enumerate(one.permissions) if code not in work.tree.buttons]
    for place in unknown:
        work.faults.add(one.row, f"permissions[{place}]", "There is no such Button")
    if unknown:
        return
    buttons = work.tree.buttons
    wanted = {buttons[code] for code in one.permissions}
    given = wanted - {buttons[code] for code in had}
    kept = set(await roles.menu_ids(work.connection, role_id)) - {buttons[code] for code in had}
    menus = sorted(wanted | kept | work.tree.with_menus_above(given))
    with work.faults.of(one.row, "permissions"):
        await work.giver.demand_menus(work.connection, menus)
        await roles.set_menus(work.connection, role_id, menus)


def _changes(before: CodedRole, one: RoleRow) -> tuple[str, ...]:
    """Return the fields of which the row says something else than is stored."""
    return tuple(
        name
        for name in _FIELDS
        if name in one.says and _comparable(getattr(one, name)) != _comparable(getattr(before, name))
    )


def _comparable(value: object) -> object:
    """Return what values are compared by: no text is an empty one, and codes have no order."""
    return set(value) if isinstance(value, tuple) else value or ""
