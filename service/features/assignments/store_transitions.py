"""Starts and expiries of assignments at their scheduled times, which no request causes."""

from datetime import datetime
from typing import Annotated, Any, Final, Literal

import sqlalchemy as sa
from msgspec import Meta, Struct

from service.kernel.value_rules import Id
from service.records.assignments import instant
from service.records.database.paging import Page, page_of
from service.records.database.transactions import Connection
from service.records.schema.rights import Source, ended_assignment, role, user, user_role

Kind = Literal["started", "expired"]


class Transition(Struct, frozen=True, kw_only=True):
    """The start or the expiry of an assignment at its scheduled time."""

    kind: Kind
    time: datetime
    assignment_id: Id
    user_id: Id
    user_name: Annotated[str, Meta(examples=["heron"])]
    role_id: Id
    role_code: Annotated[str, Meta(examples=["auditor"])]
    reason: Annotated[str | None, Meta(examples=["Stands in for kestrel"])]
    source: Annotated[Source, Meta(description="The source of the assignment.")]
    continued: Annotated[
        bool, Meta(description="True if another assignment gave the user the role before and after.")
    ]


_EVER: Final = sa.text("'-infinity'::timestamptz")
_NEVER: Final = sa.text("'infinity'::timestamptz")
_SAME: Final = ("user_id", "role_id", "reason", "source")


def _transitions(begin: sa.ColumnElement[datetime], end: sa.ColumnElement[datetime]) -> sa.Subquery:
    """Select the transitions from ``begin`` until before ``end``; each part uses the index of its time."""
    live, over = user_role.c, ended_assignment.c

    def part(columns: Any, kind: Kind, time: Any, *more: Any) -> sa.Select[*tuple[Any, ...]]:
        code = role.c.role_code if columns is live else over.role_code
        shown = (columns.id.label("assignment_id"), *(columns[name] for name in _SAME), code)
        chosen = sa.select(*shown, sa.literal(kind).label("kind"), time.label("time"))
        chosen = chosen.where(time >= begin, time < end, *more)
        return chosen.join_from(user_role, role, role.c.id == live.role_id) if columns is live else chosen

    def later(columns: Any) -> sa.ColumnElement[bool]:
        is_later: sa.ColumnElement[bool] = columns.valid_from > sa.func.coalesce(columns.create_time, _EVER)
        return is_later

    return sa.union_all(
        part(live, "started", live.valid_from, later(live)),
        part(live, "expired", live.valid_until),
        part(over, "started", over.valid_from, later(over), over.valid_from < over.end_time),
        part(over, "expired", over.end_time, over.how == "expired"),
    ).subquery("transition")


def _continued(transition: sa.FromClause) -> sa.ColumnElement[bool]:
    """Return the condition that another assignment gave the role just before and just after."""
    moment = transition.c.time

    def beside(columns: Any, until: sa.ColumnElement[datetime]) -> sa.ColumnElement[bool]:
        since = sa.func.greatest(columns.valid_from, columns.create_time, _EVER)
        other = (columns.user_id == transition.c.user_id) & (columns.role_id == transition.c.role_id)
        other &= (columns.id != transition.c.assignment_id) & (since <= moment) & (until >= moment)
        return sa.exists().where(
            other, sa.case((transition.c.kind == "started", since < moment), else_=until > moment)
        )

    live, over = user_role.alias("beside").c, ended_assignment.alias("before").c
    return beside(live, sa.func.coalesce(live.valid_until, _NEVER)) | beside(over, over.end_time)


async def page(
    connection: Connection,
    begin: datetime,
    end: datetime | None = None,
    *,
    page: int = 1,
    size: int = 20,
    at: datetime | None = None,
) -> Page[Transition]:
    """Return page ``page`` (from 1) of the transitions from ``begin`` until before ``end``, the latest first.

    Transitions after ``at`` are not returned: their times can still change.
    """
    now = instant(at)
    transition = _transitions(instant(begin), now if end is None else sa.func.least(now, instant(end)))
    of_user = transition.join(user, user.c.id == transition.c.user_id)
    shown = sa.select(*transition.c, user.c.user_name, _continued(transition).label("continued"))
    listed = await page_of(
        connection,
        shown.select_from(of_user),
        page=page,
        size=size,
        order=(transition.c.time.desc(), transition.c.assignment_id.desc(), transition.c.kind),
        counted=sa.select(transition.c.assignment_id).select_from(of_user),
    )
    return Page(tuple(Transition(**row._mapping) for row in listed.items), listed.total)  # noqa: SLF001 - SQLAlchemy's public name
