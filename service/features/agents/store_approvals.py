"""``sys.agent_approval``: calls of agents that people have to approve, and their decisions."""

from datetime import datetime, timedelta
from typing import Annotated, Final, Literal, NamedTuple, TypeAlias

import sqlalchemy as sa
from msgspec import Meta, Struct

from service.features.agents.schema import agent_approval, delegation
from service.kernel.value_rules import Id
from service.records.database.row_mapper import RowMapper
from service.records.database.transactions import Connection
from service.records.schema.rights import user

LASTS: Final = timedelta(minutes=10)
"""The time in which a person decides, and in which the agent uses an approval for one call."""
MOST_PENDING: Final = 20
"""Calls of one delegation that wait for a decision; further ones are refused without a record."""

Verdict: TypeAlias = Literal["once", "always", "refused"]
"""A decision: for one call, for each equal call as long as the delegation lasts, or a refusal."""


class Call(NamedTuple):
    """A call of an agent; ``digest`` is that of its media type and body, ``body`` its JSON for a person."""

    method: str
    path: str
    query: str
    digest: bytes
    body: str | None


class Asked(NamedTuple):
    """An approval that is waited for until a time; ``alone``: it is new, and no other one waits."""

    number: int
    until: datetime
    alone: bool


class PendingApproval(Struct, frozen=True, kw_only=True):
    """A call of an agent that waits for the decision of the person."""

    id: Id
    delegation_id: Id
    agent_id: Id
    agent_name: Annotated[str, Meta(examples=["report-agent"])]
    method: Annotated[str, Meta(examples=["DELETE"])]
    path: Annotated[str, Meta(examples=["/api/role/7"])]
    query: str
    digest: Annotated[str, Meta(description="The SHA-256 of media type and body, in hexadecimal digits.")]
    body: Annotated[
        str | None,
        Meta(
            description="The JSON text of the body, without secrets; null for another or no body.",
            examples=['{"enabled":false}'],
        ),
    ]
    until: datetime
    create_time: datetime


_PENDING: Final = RowMapper(
    PendingApproval,
    agent_approval,
    agent_id=delegation.c.agent_id,
    agent_name=user.c.user_name,
    digest=sa.func.encode(agent_approval.c.digest, "hex"),
)
_FROM: Final = agent_approval.join(delegation, delegation.c.id == agent_approval.c.delegation_id).join(
    user, user.c.id == delegation.c.agent_id
)
_WAITS: Final = sa.and_(agent_approval.c.state == "pending", agent_approval.c.until > sa.func.now())


def _is(delegation_id: int, call: Call) -> sa.ColumnElement[bool]:
    columns = agent_approval.c
    return sa.and_(
        columns.delegation_id == delegation_id,
        columns.method == call.method,
        columns.path == call.path,
        columns.query == call.query,
        columns.digest == call.digest,
    )


async def use(connection: Connection, delegation_id: int, call: Call) -> bool:
    """Use an approval of exactly this call; return False without one. One for a single call is used up."""
    columns = agent_approval.c
    usable = sa.or_(
        columns.state == "always", sa.and_(columns.state == "once", columns.until > sa.func.now())
    )
    chosen = (
        sa.select(columns.id)
        .where(_is(delegation_id, call), usable)
        .order_by(columns.state, columns.id)
        .limit(1)
        .with_for_update(skip_locked=True)
        .scalar_subquery()
    )
    used = sa.case((columns.state == "once", "used"), else_=columns.state)
    done = sa.update(agent_approval).where(columns.id == chosen).values(state=used).returning(columns.id)
    return (await connection.execute(done)).first() is not None


async def ask(connection: Connection, delegation_id: int, call: Call) -> Asked | None:
    """Return the pending approval of this call, a new one if needed.

    None beyond ``MOST_PENDING``.
    """
    columns = agent_approval.c
    # Only one request of a delegation at a time counts and writes.
    locked = sa.select(delegation.c.id).where(delegation.c.id == delegation_id).with_for_update()
    if (await connection.execute(locked)).first() is None:
        return None
    known = sa.select(columns.id, columns.until).where(_is(delegation_id, call), _WAITS).limit(1)
    if (row := (await connection.execute(known)).first()) is not None:
        return Asked(row[0], row[1], alone=False)
    waiting = sa.select(sa.func.count()).where(columns.delegation_id == delegation_id, _WAITS)
    others = (await connection.execute(waiting)).scalar_one()
    if others >= MOST_PENDING:
        return None
    new = sa.insert(agent_approval).values(
        delegation_id=delegation_id,
        method=call.method,
        path=call.path,
        query=call.query,
        digest=call.digest,
        body=call.body,
        until=sa.func.now() + sa.bindparam("lasts", LASTS, sa.Interval()),
    )
    made = (await connection.execute(new.returning(columns.id, columns.until))).one()
    return Asked(made[0], made[1], alone=others == 0)


async def pending(connection: Connection, user_id: int) -> list[PendingApproval]:
    """Return the calls that wait for the decision of a person, the oldest first."""
    asked = _PENDING.select.select_from(_FROM).where(delegation.c.user_id == user_id, _WAITS)
    return await _PENDING.all(connection, asked.order_by(agent_approval.c.id))


async def decide(
    connection: Connection, user_id: int, approval_id: int, verdict: Verdict
) -> PendingApproval | None:
    """Decide about a call that waits for that person, and return it; None if there is none."""
    waiting = await _PENDING.one_or_none(
        connection,
        _PENDING.select.select_from(_FROM).where(
            agent_approval.c.id == approval_id, delegation.c.user_id == user_id, _WAITS
        ),
    )
    if waiting is None:
        return None
    values = {
        "state": verdict,
        "until": sa.func.now() + sa.bindparam("lasts", LASTS, sa.Interval()),
    }
    decided = sa.update(agent_approval).where(agent_approval.c.id == approval_id, _WAITS).values(values)
    done = await connection.execute(decided.returning(agent_approval.c.id))
    return waiting if done.first() is not None else None
