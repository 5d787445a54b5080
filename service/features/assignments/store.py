"""Read assignments of roles: one, those of a user, and pages of all."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Final

import sqlalchemy as sa
from msgspec import Meta, Struct

from service.errors import NotFound
from service.features.assignments.sentences import sentence
from service.kernel.value_rules import ID, Id
from service.records.assignments import approved, instant, not_ended
from service.records.database import filters
from service.records.database.paging import Page, order_by, page_of
from service.records.database.transactions import Connection
from service.records.schema.rights import How, Source, ended_assignment, role, user, user_role
from service.records.user_list import PLANNING


class Assignment(Struct, frozen=True, kw_only=True):
    """An assignment of a role to a user.

    The assignment is in force from ``valid_from``, or from its creation if None, until before
    ``valid_until``, or without expiry if None. An ended assignment has ``end_time``, ``how`` and
    ``ended_by``, and the ``version`` 0. ``directory`` is the directory that granted it. ``access_request_id``
    is the request that granted it, with its approvers in ``approved_by``. ``create_time`` and ``created_by``
    are None for assignments created by a version without intervals.
    """

    id: Id
    user_id: Id
    user_name: Annotated[str, Meta(examples=["heron"])]
    role_id: Id
    role_code: Annotated[str, Meta(examples=["auditor"])]
    valid_from: Annotated[datetime | None, Meta(description="The start; null for the time of creation.")]
    valid_until: Annotated[datetime | None, Meta(description="The expiry; null for none.")]
    reason: Annotated[str | None, Meta(examples=["Stands in for kestrel"])]
    source: Annotated[Source, Meta(description="The source of the assignment; `direct` is an administrator.")]
    directory: Annotated[
        str | None,
        Meta(examples=["entra"], description="The directory of the assignment; null for other sources."),
    ]
    version: int
    create_time: Annotated[datetime | None, Meta(description="Null for an assignment of an old version.")]
    created_by: Annotated[
        str | None,
        Meta(
            examples=["admin"],
            description="The author of the assignment: the user name at that time, or `@operator`; null if "
            "unknown.",
        ),
    ]
    access_request_id: Annotated[
        Id | None,
        Meta(description="The approved access request; null for other sources, and after its deletion."),
    ]
    approved_by: Annotated[
        Sequence[str],
        Meta(examples=[["mira"]], description="The approvers of that request: the user names at that time."),
    ]
    end_time: datetime | None = None
    ended_by: str | None = None
    how: How | None = None


@dataclass(frozen=True, slots=True)
class AssignmentFilter:
    """A filter of assignments that have not ended; ``endless``: without expiry."""

    user_id: Annotated[int | None, filters.equals(user_role.c.user_id), ID] = None
    role_code: Annotated[str | None, filters.ELSEWHERE, Meta(max_length=64)] = None
    source: Annotated[Collection[Source] | None, filters.one_of(user_role.c.source)] = None
    ends_before: Annotated[
        datetime | None,
        filters.below(user_role.c.valid_until),
        Meta(tz=True, description="Those with an end before this time."),
    ] = None
    endless: Annotated[
        bool | None,
        filters.whether(user_role.c.valid_until.is_(None)),
        Meta(description="Only those without an end, or only those with one."),
    ] = None


_BEGINNING: Final = sa.func.coalesce(user_role.c.valid_from, sa.text("'-infinity'::timestamptz"))
_END: Final = sa.func.coalesce(user_role.c.valid_until, sa.text("'infinity'::timestamptz"))
SORTS: Final[dict[str, sa.ColumnElement[Any]]] = {
    "id": user_role.c.id,
    "userName": user.c.user_name_key,
    "roleCode": role.c.role_code,
    "from": _BEGINNING,
    "until": _END,
    "createTime": user_role.c.create_time,
}
"""The columns that can sort a list of assignments."""

_OF_RECORD: Final = ("id", "user_id", "role_id", "valid_from", "valid_until", "reason", "source", "directory")


def _live(moment: sa.ColumnElement[datetime]) -> sa.Select[*tuple[Any, ...]]:
    """Select the rows of ``sys.user_role``; expired ones are marked as such."""
    table = user_role.c
    over = ~not_ended(moment)
    return sa.select(
        *(table[name] for name in _OF_RECORD),
        sa.case((over, 0), else_=table.version).label("version"),
        *(table.create_time, table.created_by, user.c.user_name, role.c.role_code),
        sa.case((over, table.valid_until), else_=sa.null()).label("end_time"),
        sa.null().cast(sa.Text).label("ended_by"),
        sa.case((over, "expired"), else_=sa.null()).label("how"),
        *approved(table.id),
    ).select_from(user_role.join(user, user.c.id == table.user_id).join(role, role.c.id == table.role_id))


def _over() -> sa.Select[*tuple[Any, ...]]:
    """Select the rows of ``sys.ended_assignment``."""
    table = ended_assignment.c
    return sa.select(
        *(table[name] for name in _OF_RECORD),
        sa.literal(0).label("version"),
        *(table.create_time, table.created_by, user.c.user_name, table.role_code),
        *(table.end_time, table.ended_by, table.how),
        *approved(table.id),
    ).select_from(ended_assignment.join(user, user.c.id == table.user_id))


async def page(
    connection: Connection,
    criteria: AssignmentFilter,
    *,
    page: int = 1,
    size: int = 20,
    sort: str = "id",
    at: datetime | None = None,
) -> Page[Assignment]:
    """Return page ``page`` (from 1) of the matching assignments that have not ended at ``at``.

    Assignments with a later start are included. Raises ValidationFailed for a ``sort`` that is not in
    ``SORTS``. Only ids are sorted and skipped.
    """
    moment = instant(at)
    await connection.execute(PLANNING)
    conditions = [not_ended(moment), *filters.conditions_of(criteria)]
    if criteria.role_code is not None:
        # Read the id first: the planner uses it to estimate the number of assignments.
        named = await connection.execute(sa.select(role.c.id).where(role.c.role_code == criteria.role_code))
        conditions.append(user_role.c.role_id == (named.scalar_one_or_none() or 0))
    order = order_by(sort, SORTS, user_role.c.id)
    # PostgreSQL omits the outer joins if no sort uses them; each assignment has a user and a role.
    joined = user_role.outerjoin(user, user.c.id == user_role.c.user_id)
    joined = joined.outerjoin(role, role.c.id == user_role.c.role_id)
    matching = sa.select(user_role.c.id).select_from(joined).where(*conditions)
    listed = await page_of(connection, matching, page=page, size=size, order=order)
    ids = [assignment_id for (assignment_id,) in listed.items]
    return Page(await in_order(connection, ids, at), listed.total)


async def in_order(
    connection: Connection, ids: Sequence[int], at: datetime | None = None
) -> tuple[Assignment, ...]:
    """Return the stored assignments with these ids, in the same order."""
    rows = await connection.execute(_live(instant(at)).where(user_role.c.id.in_(ids)))
    records = {row.id: _read(row) for row in rows}
    return tuple(records[assignment_id] for assignment_id in ids)


async def of_user(
    connection: Connection,
    user_id: int,
    *,
    ended: bool = False,
    page: int = 1,
    size: int = 20,
    at: datetime | None = None,
) -> Page[Assignment]:
    """Return page ``page`` (from 1) of a user's assignments, by id; ``ended`` includes the past ones.

    Raises NotFound for an unknown user.
    """
    if (await connection.execute(sa.select(user.c.id).where(user.c.id == user_id))).first() is None:
        raise NotFound(sentence("no_such_user"))
    moment = instant(at)
    live = _live(moment).where(user_role.c.user_id == user_id)
    if not ended:
        order = order_by("id", SORTS, user_role.c.id)
        listed = await page_of(
            connection, live.where(not_ended(moment)), page=page, size=size, order=order[:1]
        )
    else:
        past = _over().where(ended_assignment.c.user_id == user_id)
        both = sa.union_all(live, past).subquery()
        listed = await page_of(connection, sa.select(both), page=page, size=size, order=(both.c.id,))
    return Page(tuple(_read(row) for row in listed.items), listed.total)


async def read(
    connection: Connection, user_id: int, assignment_id: int, *, at: datetime | None = None
) -> Assignment:
    """Return an assignment of a user, current or past; raises NotFound for an unknown id."""
    live = _live(instant(at)).where(user_role.c.user_id == user_id, user_role.c.id == assignment_id)
    over = _over().where(ended_assignment.c.user_id == user_id, ended_assignment.c.id == assignment_id)
    for statement in (live, over):
        if (row := (await connection.execute(statement)).one_or_none()) is not None:
            return _read(row)
    raise NotFound(sentence("no_such_assignment_of_user"))


def _read(row: sa.Row[*tuple[Any, ...]]) -> Assignment:
    return Assignment(**row._mapping)  # noqa: SLF001 - a public name


async def every(
    connection: Connection,
    condition: sa.ColumnElement[bool],
    order: sa.ColumnElement[Any],
    at: datetime | None = None,
) -> list[Assignment]:
    """Return the stored assignments of enabled users that fulfil ``condition``, in ``order``."""
    chosen = _live(instant(at)).where(condition, user.c.status == "enabled")
    return [_read(row) for row in await connection.execute(chosen.order_by(order, user_role.c.id))]
