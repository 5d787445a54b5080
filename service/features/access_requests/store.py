"""``sys.access_request`` and ``sys.access_decision``: requests for roles, and decisions about them.

A pending request expires at its ``deadline``. Queries return it as expired from then on, even before a job
stores the state. Callers that change a request have read it ``for_update``. Callers that grant a role hold
``role_rights.lock``.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Final

import sqlalchemy as sa
from msgspec import Meta, Struct

from service.errors import Conflict, NotFound
from service.features.access_requests.schema import (
    AccessDecision,
    AccessRequest,
    NewRequest,
    State,
    access_decision,
    access_request,
)
from service.features.access_requests.sentences import sentence
from service.kernel.fields import values_of
from service.kernel.value_rules import ID
from service.records.assignments import instant
from service.records.database import filters
from service.records.database.paging import Page, order_by, page_of, sorts_of
from service.records.database.row_mapper import RowMapper
from service.records.database.transactions import Connection
from service.records.schema.of_users import notice
from service.records.schema.rights import role, user


class Granted(Struct, frozen=True):
    """The assignment of an approved request, and its validity interval."""

    assignment_id: int
    granted_from: datetime
    granted_until: datetime


class OpenEmergency(Struct, frozen=True):
    """An emergency grant that is not closed."""

    id: int
    user_id: int
    user_name: str
    role_code: str
    end_time: datetime


class Ended(Struct, frozen=True):
    """An ended request whose author must be notified; ``granted_until`` is set for approved requests."""

    id: int
    user_id: int
    role_code: str
    state: State
    end_reason: str | None
    granted_until: datetime | None


@dataclass(frozen=True, slots=True)
class RequestFilter:
    """A filter of requests; ``state`` is the stored state, or expired."""

    state: Annotated[Collection[State] | None, filters.ELSEWHERE] = None
    role_code: Annotated[str | None, filters.equals(access_request.c.role_code), Meta(max_length=64)] = None
    user_id: Annotated[int | None, filters.equals(access_request.c.user_id), ID] = None


class Visible(Struct, frozen=True):
    """The requests that a user can see: their own, those they decided, and those for ``role_codes``."""

    user_id: int
    role_codes: Collection[str]


SORTS: Final = sorts_of(access_request, "id", "create_time", "deadline", "user_name", "role_code")
"""The columns that can sort a list of requests."""

MOST_PENDING: Final = 20
"""Maximum number of pending requests of an author."""
MOST_IN_AN_HOUR: Final = 20
"""Maximum number of an author's requests within an hour, in any state; also the maximum of emergencies."""

ENDED: Final = "access_request_ended"
"""The kind of notice that reports the result of a request to its author."""

_DECISION: Final = RowMapper(AccessDecision, access_decision)
_OPEN: Final = RowMapper(OpenEmergency, access_request)
_ENDED: Final = RowMapper(Ended, access_request)
_CLOSED: Final = sa.exists().where(
    access_decision.c.request_id == access_request.c.id, access_decision.c.decision == "close"
)
IS_OPEN: Final = sa.and_(access_request.c.emergency, access_request.c.state == "approved", ~_CLOSED)
"""The condition that a row is an emergency that is not closed."""


def _over(at: datetime | None) -> sa.ColumnElement[bool]:
    table = access_request.c
    return (table.state == "pending") & ~table.complete & (table.deadline <= instant(at))


def _state(at: datetime) -> sa.ColumnElement[State]:
    return sa.case((_over(at), "expired"), else_=access_request.c.state)


def _records(at: datetime) -> RowMapper[AccessRequest]:
    over = _state(at) != access_request.c.state
    ended = sa.case((over, access_request.c.deadline), else_=access_request.c.end_time)
    return RowMapper(AccessRequest, access_request, state=_state(at), end_time=ended)


async def create(
    connection: Connection, new: NewRequest, permissions: Collection[str] | None = None
) -> AccessRequest:
    """Write a request for a role with its current ``permissions``; None if these are unknown.

    Raises Conflict if the author has another pending request for the role, too many pending requests, or too
    many recent ones. The limits exist because approvers are mailed about each request.
    """
    records = _records(new.create_time)
    columns = values_of(new) | {name: list(getattr(new, name)) for name in ("stage_codes", "stage_approvals")}
    columns["role_permissions"] = None if permissions is None else sorted(permissions)
    await expire(connection, new.create_time, user_id=new.user_id)
    same = (access_request.c.user_id == new.user_id) & (access_request.c.role_id == new.role_id)
    pending = sa.select(access_request.c.id).where(same, access_request.c.state == "pending")
    if (other := (await connection.execute(pending)).scalar_one_or_none()) is not None:
        raise Conflict(sentence("request_pending"), rule="unique", accessRequestId=other)
    if new.emergency:
        lasts = access_request.c.granted_until > instant(new.create_time)
        given = sa.select(access_request.c.id).where(same, access_request.c.emergency, lasts).limit(1)
        if (other := (await connection.execute(given)).scalar_one_or_none()) is not None:
            raise Conflict(sentence("role_held"), rule="unique", accessRequestId=other)
    await _require_few(connection, new)
    written = sa.insert(access_request).values(columns).returning(*records.columns)
    return await records.returned(connection, written)


async def _require_few(connection: Connection, new: NewRequest) -> None:
    table = access_request.c
    alike = table.emergency == new.emergency
    mine = sa.select(table.create_time).where(table.user_id == new.user_id, alike)
    pending = mine.where(table.state == "pending").offset(MOST_PENDING - 1).limit(1)
    if (await connection.execute(pending)).scalar_one_or_none() is not None:
        raise Conflict(sentence("too_many_pending_requests", most=MOST_PENDING), rule="limit")
    earlier = mine.order_by(table.id.desc()).offset(MOST_IN_AN_HOUR - 1).limit(1)
    at = (await connection.execute(earlier)).scalar_one_or_none()
    if at is not None and at > new.create_time - timedelta(hours=1):
        raise Conflict(sentence("too_many_requests_in_an_hour", most=MOST_IN_AN_HOUR), rule="limit")


async def read(
    connection: Connection,
    request_id: int,
    at: datetime,
    visible: Visible | None = None,
    *,
    for_update: bool = False,
) -> AccessRequest:
    """Return a request with its state at ``at``; raises NotFound if it is not ``visible``; None sees all."""
    records = _records(at)
    statement = records.select.where(access_request.c.id == request_id, *_seen(visible))
    if for_update:
        statement = statement.with_for_update()
    stored = await records.one_or_none(connection, statement)
    if stored is None:
        raise NotFound(sentence("no_such_request"))
    return stored


async def permissions_then(connection: Connection, request_id: int) -> list[str] | None:
    """Return the role's codes at the time of the request, sorted; None if they were not stored."""
    kept = sa.select(access_request.c.role_permissions).where(access_request.c.id == request_id)
    permissions: list[str] | None = (await connection.execute(kept)).scalar_one()
    return permissions


async def page(
    connection: Connection,
    criteria: RequestFilter,
    visible: Visible | None,
    at: datetime,
    *,
    page: int = 1,
    size: int = 20,
    sort: str = "-id",
) -> Page[AccessRequest]:
    """Return page ``page`` (from 1) of the matching requests that are ``visible``; None sees all.

    Raises ValidationFailed for a ``sort`` that is not in ``SORTS``.
    """
    records = _records(at)
    matching = records.select.where(*filters.conditions_of(criteria), *_seen(visible))
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
    # By role id: requests for a deleted role are not visible to approvers of a new role with its code.
    theirs = sa.select(role.c.id).where(role.c.role_code.in_(list(visible.role_codes)))
    return [(table.user_id == visible.user_id) | table.role_id.in_(theirs) | decided]


async def decisions(connection: Connection, request_ids: Sequence[int]) -> dict[int, list[AccessDecision]]:
    """Return the decisions about each of these requests, in order of time."""
    table = access_decision.c
    chosen = sa.select(table.request_id, *_DECISION.columns).where(table.request_id.in_(request_ids))
    by_request: dict[int, list[AccessDecision]] = {request_id: [] for request_id in request_ids}
    for row in await connection.execute(chosen.order_by(table.id)):
        by_request[row.request_id].append(_DECISION.of(row))
    return by_request


async def decide(connection: Connection, request_id: int, made: AccessDecision) -> None:
    """Write a user's decision."""
    columns = values_of(made) | {name: list(getattr(made, name)) for name in ("stages", "decision_ids")}
    await connection.execute(sa.insert(access_decision).values(request_id=request_id, **columns))


async def count_in(
    connection: Connection,
    request_id: int,
    user_id: int,
    stages: Collection[int],
    decision_ids: Sequence[str],
) -> None:
    """Store the stages in which an approval counts now, and the decisions that allow this."""
    table = access_decision.c
    given = (table.request_id == request_id) & (table.user_id == user_id)
    changed = sa.update(access_decision).where(given, table.stages != sorted(stages))
    await connection.execute(changed.values(stages=sorted(stages), decision_ids=list(decision_ids)))


async def end(
    connection: Connection,
    request_id: int,
    state: State,
    at: datetime,
    *,
    by: str | None,
    reason: str | None = None,
    granted: Granted | None = None,
) -> None:
    """End a pending request permanently; ``granted`` is set for an approved request."""
    values = {"state": state, "end_time": at, "ended_by": by, "end_reason": reason}
    if granted is not None:
        values |= values_of(granted)
    await connection.execute(
        sa.update(access_request)
        .where(access_request.c.id == request_id)
        .values(**values, version=access_request.c.version + 1)
    )


async def wait(connection: Connection, request_id: int) -> None:
    """Store that all stages of a pending request have passed: it waits for its beginning."""
    await connection.execute(
        sa.update(access_request)
        .where(access_request.c.id == request_id)
        .values(complete=True, version=access_request.c.version + 1)
    )


async def fail_all(
    connection: Connection,
    at: datetime,
    reason: str,
    *,
    by: str | None,
    user_ids: Collection[int] = (),
    role_ids: Collection[int] = (),
) -> list[Ended]:
    """Set the pending requests of these users and for these roles to failed; return them.

    Requests past their deadline are expired first.
    """
    await expire(connection, at)
    table = access_request.c
    about = filters.among(table.user_id, user_ids) | filters.among(table.role_id, role_ids)
    values = {"state": "failed", "end_time": at, "ended_by": by, "end_reason": reason}
    ended = sa.update(access_request).where(table.state == "pending", about)
    ended = ended.values(**values, version=table.version + 1)
    return await _ENDED.all(connection, ended.returning(*_ENDED.columns))


async def expire(connection: Connection, at: datetime, *, user_id: int | None = None) -> list[int]:
    """Store the expiry of requests past their deadline, of all users or one user; return their ids."""
    table, over = access_request.c, _over(at)
    if user_id is not None:
        over &= table.user_id == user_id
    values = {"state": "expired", "end_time": table.deadline, "version": table.version + 1}
    ended = sa.update(access_request).where(over).values(values)
    return list((await connection.execute(ended.returning(table.id))).scalars())


def _begun(at: datetime | None) -> sa.ColumnElement[bool]:
    """Return the condition that all stages have passed and the start is reached; others have expired."""
    table = access_request.c
    return (table.state == "pending") & table.complete & (table.valid_from <= instant(at))


async def beginning(connection: Connection, at: datetime) -> list[int]:
    """Return the ids of the requests whose start is reached, in order of start."""
    table = access_request.c
    chosen = sa.select(table.id).where(_begun(at)).order_by(table.valid_from, table.id)
    return list((await connection.execute(chosen)).scalars())


async def open_emergencies(connection: Connection, role_id: int | None = None) -> list[OpenEmergency]:
    """Return the emergencies that are not closed, of all roles or one role, the oldest first."""
    chosen = _OPEN.select.where(IS_OPEN).order_by(access_request.c.id)
    if role_id is not None:
        chosen = chosen.where(access_request.c.role_id == role_id)
    return await _OPEN.all(connection, chosen)


def _untold() -> sa.ColumnElement[bool]:
    """Return the condition that a request ended within a day and its author was not notified.

    Authors need no notice of a request that they withdrew, or of an emergency grant.
    """
    table = access_request.c
    known = (
        (notice.c.user_id == table.user_id)
        & (notice.c.kind == ENDED)
        & (notice.c.facts["request"].astext == sa.cast(table.id, sa.Text))
    )
    ended = table.end_time > sa.func.statement_timestamp() - timedelta(days=1)
    return (
        ended
        & table.state.in_(("approved", "denied", "expired", "failed"))
        & ~table.emergency
        & sa.exists().where(user.c.id == table.user_id)
        & ~sa.exists().where(known).correlate(access_request)
    )


async def to_tell(connection: Connection, most: int) -> list[Ended]:
    """Return at most ``most`` ended requests whose authors must be notified."""
    chosen = _ENDED.select.where(_untold()).order_by(access_request.c.id).limit(most)
    return await _ENDED.all(connection, chosen)


async def is_due(connection: Connection) -> bool:
    """Return true if a request starts or has expired, or an author must be notified."""
    asked = (sa.exists().where(condition) for condition in (_over(None), _begun(None), _untold()))
    return bool(await connection.scalar(sa.select(sa.or_(*asked))))


async def in_need(connection: Connection) -> tuple[int, str]:
    """Return the number of pending requests and open emergencies, and the reason why they block a change."""
    pending = (access_request.c.state == "pending") & ~_over(None)
    statement = sa.select(sa.func.count()).select_from(access_request).where(pending | IS_OPEN)
    count: int = (await connection.execute(statement)).scalar_one()
    return count, (
        "requests for roles are pending, or emergencies are not closed, and without the feature no one "
        "could decide about them: deny or withdraw the requests, and close the emergencies first"
    )
