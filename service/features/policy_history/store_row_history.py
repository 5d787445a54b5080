"""Source rows of each revision: services, resources, Buttons, bindings, openings, rules.

Lines do not contain the names of resources and Buttons, which of them were disabled, and the bindings to
disabled Buttons. Those rows are kept here, once for each change: a row has this content in the revisions with
``since <= revision < until``. When a row changes while a revision is in force, its last state counts for that
revision.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from msgspec import Struct
from sqlalchemy import ColumnElement, Table, case, func, select, text
from sqlalchemy.sql.elements import TextClause

from service.features.policy_history.schema import (
    binding_history,
    button_history,
    opening_history,
    request_rule_history,
    resource_history,
    service_history,
)
from service.kernel.services import PORTCULLIS
from service.records.database.row_mapper import RowMapper
from service.records.database.transactions import Connection
from service.records.request_rules import RuleValues
from service.records.resources import ResourceValues
from service.records.schema.policy import policy_revision

_HISTORIES: Final = (
    resource_history,
    button_history,
    binding_history,
    service_history,
    opening_history,
    request_rule_history,
)


def _record(history: Table, source: str, *, key_length: int = 1) -> TextClause:
    """Return the statement that records in ``history`` the changes of the rows of ``source``.

    The first ``key_length`` kept columns identify a row.
    """
    names = [column.name for column in history.c if column.name not in ("id", "since", "until")]
    columns = ", ".join(names)
    same = " AND ".join(f"stored.{name} = kept.{name}" for name in names[:key_length])
    stored = ", ".join(f"stored.{name}" for name in names)
    kept = ", ".join(f"kept.{name}" for name in names)
    # A full join for the same reason as in ``history``.
    return text(
        f"""
WITH changed AS MATERIALIZED (
    SELECT kept.id AS kept_id, kept.since AS kept_since, {stored}
    FROM (SELECT * FROM {history} WHERE until IS NULL) kept
    FULL JOIN ({source}) stored ON {same}
    WHERE ROW({stored}) IS DISTINCT FROM ROW({kept})
),
replaced AS (
    DELETE FROM {history} WHERE id IN (SELECT kept_id FROM changed WHERE kept_since = :revision)
),
ended AS (
    UPDATE {history} SET until = :revision
    WHERE id IN (SELECT kept_id FROM changed WHERE kept_since < :revision)
)
INSERT INTO {history} ({columns}, since)
SELECT {columns}, :revision FROM changed WHERE {names[0]} IS NOT NULL
"""  # noqa: S608 - of constants
    )


_RECORDS: Final = (
    _record(resource_history, "SELECT id AS resource_id, * FROM sys.resource"),
    _record(button_history, "SELECT id AS menu_id, * FROM sys.menu WHERE menu_type = 'Button'"),
    _record(binding_history, "SELECT resource_id, menu_id FROM sys.action_resource", key_length=2),
    _record(service_history, "SELECT id AS service_id, * FROM sys.service"),
    _record(opening_history, "SELECT id AS opening_id, * FROM sys.opening"),
    _record(
        request_rule_history,
        "SELECT rule.*, role.role_code FROM sys.request_rule rule JOIN sys.role ON role.id = rule.role_id"
        " WHERE role.enabled AND NOT rule.suspended",
    ),
)


def _forget(table: str) -> str:
    # A row is in one of the two parts: a statement must not change it twice.
    return f"""
later_{table} AS (DELETE FROM sys.{table} WHERE since >= :revision),
again_{table} AS (UPDATE sys.{table} SET until = NULL WHERE since < :revision AND until >= :revision)
"""  # noqa: S608 - of constants


# One statement for all: there is almost never anything to forget.
_FORGET: Final = text(f"WITH {','.join(_forget(history.name) for history in _HISTORIES)} SELECT")
_KEPT: Final = text(
    "UPDATE sys.policy_revision SET rows_kept = true WHERE revision = :revision AND NOT rows_kept"
)


async def lines_published(connection: Connection, revision: int, newest: int) -> None:
    """Keep the rows of ``revision``; a listener of ``LINES_PUBLISHED``.

    The history of revisions after ``newest``, which a restore has deleted, is deleted first.
    """
    if revision > newest:
        await forget_from(connection, newest + 1)
    await record(connection, revision)


async def record(connection: Connection, revision: int) -> None:
    """Keep the stored rows, from which ``revision`` is derived; the caller holds ``revisions.lock``."""
    for statement in (*_RECORDS, _KEPT):
        await connection.execute(statement, {"revision": revision})


async def forget_from(connection: Connection, revision: int) -> None:
    """Delete the history of ``revision`` and later ones, which were deleted from the database."""
    await connection.execute(_FORGET, {"revision": revision})


@dataclass(frozen=True, slots=True, kw_only=True)
class PastResource(ResourceValues):
    """A resource as it was."""

    resource_id: int
    enabled: bool
    service: str


class PastButton(Struct, frozen=True):
    """A Button as it was."""

    menu_id: int
    parent_id: int | None
    title: str
    name: str | None
    icon: str | None
    sort: int
    auth_mark: str
    enabled: bool


# Past demands come from the lines of the revision.
_RESOURCE: Final = RowMapper(PastResource, resource_history, without=["assurance", "services"])
_BUTTON: Final = RowMapper(PastButton, button_history)
_RULE: Final = RowMapper(RuleValues, request_rule_history)


async def nearest(connection: Connection, revision: int) -> int | None:
    """Return the first revision from ``revision`` on with kept rows; None without one."""
    kept = policy_revision.c.rows_kept & (policy_revision.c.revision >= revision)
    oldest: int | None = (
        await connection.execute(select(func.min(policy_revision.c.revision)).where(kept))
    ).scalar_one()
    return oldest


async def resources_at(
    connection: Connection,
    revision: int,
    *,
    objects: Collection[str] = (),
    ids: Collection[int] = (),
) -> list[PastResource]:
    """Return the resources of ``revision`` with these objects (``GET /api/report/{id}``), or these ids."""
    row = resource_history.c
    route = row.method + " " + row.path
    named = case((row.service == PORTCULLIS, route), else_=row.service + " " + route)
    condition = named.in_(objects) | row.resource_id.in_(ids)
    return await _RESOURCE.where(
        connection, _at(resource_history, revision), condition, order=row.resource_id
    )


async def service_at(connection: Connection, revision: int, name: str) -> str | None:
    """Return the description of the service of that name in ``revision``; None also if it is not kept."""
    condition = service_history.c.name == name
    statement = select(service_history.c.description).where(_at(service_history, revision), condition)
    description: str | None = (await connection.execute(statement)).scalar_one_or_none()
    return description


async def buttons_at(connection: Connection, revision: int, codes: Collection[str]) -> dict[str, PastButton]:
    """Return the Buttons of ``revision`` with these codes, by code."""
    condition = button_history.c.auth_mark.in_(codes)
    statement = _BUTTON.select.where(_at(button_history, revision), condition)
    return {button.auth_mark: button for button in await _BUTTON.all(connection, statement)}


async def request_rules_at(
    connection: Connection, revision: int, role_codes: Collection[str]
) -> dict[str, RuleValues]:
    """Return the request rules of these roles in ``revision``, by code."""
    kept = request_rule_history.c
    statement = select(kept.role_code, *_RULE.columns).where(
        _at(request_rule_history, revision), kept.role_code.in_(role_codes)
    )
    return {row.role_code: _RULE.of(row) for row in await connection.execute(statement)}


async def bound_at(
    connection: Connection, revision: int, resource_ids: Collection[int]
) -> dict[int, dict[str, bool]]:
    """Return, by id of a resource, the codes that it was bound to, and whether each Button was enabled."""
    binding, button = binding_history.c, button_history.c
    statement = (
        select(binding.resource_id, button.auth_mark, button.enabled)
        .join(button_history, button.menu_id == binding.menu_id)
        .where(_at(binding_history, revision), _at(button_history, revision))
        .where(binding.resource_id.in_(resource_ids))
        .order_by(button.auth_mark)
    )
    bound: dict[int, dict[str, bool]] = {}
    for row in await connection.execute(statement):
        bound.setdefault(row.resource_id, {})[row.auth_mark] = row.enabled
    return bound


def _at(table: Table, revision: int) -> ColumnElement[bool]:
    until = table.c.until
    return (table.c.since <= revision) & (until.is_(None) | (until > revision))
