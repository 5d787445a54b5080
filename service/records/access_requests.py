"""``sys.access_request`` and ``sys.access_decision``: who has asked for which role, and what others decided.

A request that nobody has approved expires at its ``deadline`` by itself: it is read as expired from then on,
whenever a job stores that. Callers that change one have read it ``for_update``, and hold
``role_rights.lock`` where they give a role.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Final, Literal, TypeAlias

import sqlalchemy as sa
from msgspec import Meta
from sqlalchemy.ext.asyncio import AsyncConnection

from service.errors import Conflict, NotFound
from service.kernel.request_objects import Stage
from service.kernel.value_rules import ID
from service.records.assignments import instant
from service.records.database import filters
from service.records.database.paging import Page, order_by, page_of, sorts_of
from service.records.database.row_mapper import RowMapper
from service.records.schema.requests import access_decision, access_request

State: TypeAlias = Literal["pending", "approved", "denied", "expired", "cancelled", "failed"]
"""What has become of a request."""
Verdict: TypeAlias = Literal["approve", "deny"]
"""What somebody has decided."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRequest:
    """What a request asks for: the role from ``valid_from`` on, None for at once.

    Until ``valid_until``, or for ``duration`` seconds: one of the two. ``decision_id`` names the refusal that
    it came from, ``asked_decision_id`` the decision that its author may ask. The rest is of the rule.
    """

    user_id: int
    user_name: str
    role_id: int
    role_code: str
    emergency: bool
    valid_from: datetime | None
    valid_until: datetime | None
    duration: int | None
    reason: str | None
    ticket: str | None
    decision_id: str | None
    asked_decision_id: str
    stage_codes: tuple[str, ...]
    stage_approvals: tuple[int, ...]
    grant_needed: bool
    create_time: datetime
    deadline: datetime

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The stages, in order."""
        return tuple(map(Stage, self.stage_codes, self.stage_approvals))


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessRequest(NewRequest):
    """A request. ``complete``: all stages have passed, and it waits for its beginning.

    One that has ended has ``end_time``; ``ended_by`` is who ended it, None for nobody, and ``assignment_id``
    the assignment of one that was approved.
    """

    id: int
    state: State
    complete: bool
    end_time: datetime | None
    ended_by: str | None
    end_reason: str | None
    assignment_id: int | None
    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessDecision:
    """What somebody decided about a request; ``stages`` are those that they were entitled to decide."""

    user_id: int
    user_name: str
    decision: Verdict
    reason: str
    valid_until: datetime | None
    stages: tuple[int, ...]
    decision_ids: tuple[str, ...]
    create_time: datetime


@dataclass(frozen=True, slots=True)
class RequestFilter:
    """A filter of requests; ``state`` is the stored one, or expired."""

    state: Annotated[Collection[State] | None, filters.ELSEWHERE] = None
    role_code: Annotated[str | None, filters.equals(access_request.c.role_code), Meta(max_length=64)] = None
    user_id: Annotated[int | None, filters.equals(access_request.c.user_id), ID] = None


@dataclass(frozen=True, slots=True)
class Visible:
    """Which requests somebody may see: the own ones, those they decided, and those for ``role_codes``."""

    user_id: int
    role_codes: Collection[str]


SORTS: Final = sorts_of(access_request, "id", "create_time", "deadline", "user_name", "role_code")
"""The columns by which a list of requests can be sorted."""

_DECISION: Final = RowMapper(AccessDecision, access_decision)


def _state(at: datetime) -> sa.ColumnElement[State]:
    table = access_request.c
    over = (table.state == "pending") & ~table.complete & (table.deadline <= instant(at))
    return sa.case((over, "expired"), else_=table.state)


def _records(at: datetime) -> RowMapper[AccessRequest]:
    over = _state(at) != access_request.c.state
    ended = sa.case((over, access_request.c.deadline), else_=access_request.c.end_time)
    return RowMapper(AccessRequest, access_request, state=_state(at), end_time=ended)


async def create(connection: AsyncConnection, new: NewRequest) -> AccessRequest:
    """Write a request; Conflict if another one of its author for the role is pending."""
    records = _records(new.create_time)
    columns: dict[str, Any] = {name: getattr(new, name) for name in NewRequest.__dataclass_fields__}
    columns |= {name: list(columns[name]) for name in ("stage_codes", "stage_approvals")}
    await expire(connection, new.create_time, user_id=new.user_id)
    same = (access_request.c.user_id == new.user_id) & (access_request.c.role_id == new.role_id)
    pending = sa.select(access_request.c.id).where(same, access_request.c.state == "pending")
    if (other := (await connection.execute(pending)).scalar_one_or_none()) is not None:
        raise Conflict("You have asked for this role already", rule="unique", accessRequestId=other)
    written = sa.insert(access_request).values(columns).returning(*records.columns)
    return await records.returned(connection, written)


async def read(
    connection: AsyncConnection,
    request_id: int,
    at: datetime,
    visible: Visible | None = None,
    *,
    for_update: bool = False,
) -> AccessRequest:
    """Return a request as it is at ``at``; NotFound for one that is not ``visible``; None sees all."""
    records = _records(at)
    statement = sa.select(*records.columns).where(access_request.c.id == request_id, *_seen(visible))
    if for_update:
        statement = statement.with_for_update()
    stored = await records.one_or_none(connection, statement)
    if stored is None:
        raise NotFound("There is no such request")
    return stored


async def page(
    connection: AsyncConnection,
    criteria: RequestFilter,
    visible: Visible | None,
    at: datetime,
    *,
    page: int = 1,
    size: int = 20,
    sort: str = "-id",
) -> Page[AccessRequest]:
    """Return page ``page`` (from 1) of the matching requests that are ``visible``; None sees all.

    ValidationFailed for a ``sort`` that is not in ``SORTS``.
    """
    records = _records(at)
    matching = sa.select(*records.columns).where(*filters.conditions_of(criteria), *_seen(visible))
    if criteria.state is not None:
        matching = matching.where(_state(at).in_(list(criteria.state)))
    order = order_by(sort, SORTS, access_request.c.id)
    return (await page_of(connection, matching, page=page, size=size, order=order)).of(records)


def _seen(visible: Visible | None) -> list[sa.ColumnElement[bool]]:
    if visible is None:
        return []
    table = access_request.c
    decided = sa.exists().where(
        access_decision.c.request_id == table.id, access_decision.c.user_id == visible.user_id
    )
    return [(table.user_id == visible.user_id) | table.role_code.in_(list(visible.role_codes)) | decided]


async def decisions(
    connection: AsyncConnection, request_ids: Sequence[int]
) -> dict[int, list[AccessDecision]]:
    """Return what was decided about these requests, in the order of time."""
    table = access_decision.c
    chosen = sa.select(table.request_id, *_DECISION.columns).where(table.request_id.in_(request_ids))
    by_request: dict[int, list[AccessDecision]] = {request_id: [] for request_id in request_ids}
    for row in await connection.execute(chosen.order_by(table.id)):
        by_request[row.request_id].append(_DECISION.of(row))
    return by_request


async def decide(connection: AsyncConnection, request_id: int, made: AccessDecision) -> None:
    """Write what somebody decided, once."""
    columns = {name: getattr(made, name) for name in AccessDecision.__dataclass_fields__}
    columns |= {name: list(columns[name]) for name in ("stages", "decision_ids")}
    await connection.execute(sa.insert(access_decision).values(request_id=request_id, **columns))


async def end(
    connection: AsyncConnection,
    request_id: int,
    state: State,
    at: datetime,
    *,
    by: str | None,
    reason: str | None = None,
    assignment_id: int | None = None,
) -> None:
    """End a pending request for good."""
    values = {"state": state, "end_time": at, "ended_by": by, "end_reason": reason}
    await connection.execute(
        sa.update(access_request)
        .where(access_request.c.id == request_id)
        .values(**values, assignment_id=assignment_id, version=access_request.c.version + 1)
    )


async def wait(connection: AsyncConnection, request_id: int, *, complete: bool) -> None:
    """Store whether all stages of a pending request have passed, so that it waits for its beginning."""
    await connection.execute(
        sa.update(access_request)
        .where(access_request.c.id == request_id)
        .values(complete=complete, version=access_request.c.version + 1)
    )


async def fail_all(
    connection: AsyncConnection,
    at: datetime,
    reason: str,
    *,
    by: str | None,
    user_ids: Collection[int] = (),
    role_ids: Collection[int] = (),
) -> list[int]:
    """End the pending requests of these users and for these roles as failed; return their ids.

    Those whose deadline has passed have expired before.
    """
    await expire(connection, at)
    table = access_request.c
    about = table.user_id.in_(list(user_ids)) | table.role_id.in_(list(role_ids))
    values = {"state": "failed", "end_time": at, "ended_by": by, "end_reason": reason}
    ended = sa.update(access_request).where(table.state == "pending", about).values(values)
    return list((await connection.execute(ended.returning(table.id))).scalars())


async def expire(connection: AsyncConnection, at: datetime, *, user_id: int | None = None) -> list[int]:
    """Store that requests have expired at their deadline, of all users or of one; return their ids."""
    table = access_request.c
    over = (table.state == "pending") & ~table.complete & (table.deadline <= instant(at))
    if user_id is not None:
        over &= table.user_id == user_id
    ended = sa.update(access_request).where(over).values(state="expired", end_time=table.deadline)
    return list((await connection.execute(ended.returning(table.id))).scalars())


async def beginning(connection: AsyncConnection, at: datetime) -> list[int]:
    """Return the ids of the pending requests whose beginning has come, by it."""
    table = access_request.c
    begun = (table.state == "pending") & (table.valid_from <= instant(at))
    chosen = sa.select(table.id).where(begun).order_by(table.valid_from, table.id)
    return list((await connection.execute(chosen)).scalars())
