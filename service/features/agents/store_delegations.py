"""``sys.delegation``: what people let agents do for them, and until when."""

from collections.abc import Collection
from datetime import datetime
from typing import Annotated, Final

import sqlalchemy as sa
from msgspec import Meta, Struct

from service.authn.delegated_tokens import Terms
from service.features.agents.schema import agent, agent_switch, delegation
from service.kernel.value_rules import Id
from service.records import bans
from service.records.database.portions import delete_some
from service.records.database.row_mapper import PreparedSelect, RowMapper, Source
from service.records.database.transactions import Connection
from service.records.schema.rights import api_key, user

_PERSON: Final = user.alias("person")


class StoredDelegation(Struct, frozen=True, kw_only=True):
    """A delegation of a person to an agent."""

    id: Id
    user_id: Id
    user_name: Annotated[str, Meta(examples=["ann"])]
    agent_id: Id
    agent_name: Annotated[str, Meta(examples=["report-agent"])]
    codes: Annotated[tuple[str, ...], Meta(examples=[["system:role:list"]])]
    ask_me: Annotated[
        tuple[str, ...], Meta(description="Codes of which each use needs the approval of the person.")
    ]
    services: Annotated[tuple[str, ...], Meta(examples=[["portcullis"]])]
    until: datetime
    create_time: datetime


class Standing(Struct, frozen=True, kw_only=True):
    """The stored facts behind a token of an agent; ``key_scopes`` None means all codes of the agent."""

    user_id: int
    agent_id: int
    owner_id: int
    codes: tuple[str, ...]
    ask_me: tuple[str, ...]
    services: tuple[str, ...]
    until: datetime
    key_scopes: tuple[str, ...] | None
    key_expire_time: datetime | None

    @property
    def terms(self) -> Terms:
        """Return the part that limits a token."""
        return Terms(self.codes, self.ask_me, self.services, self.key_scopes)


_DELEGATION: Final = RowMapper(
    StoredDelegation, delegation, user_name=_PERSON.c.user_name, agent_name=user.c.user_name
)
_FROM: Final = delegation.join(user, user.c.id == delegation.c.agent_id).join(
    _PERSON, _PERSON.c.id == delegation.c.user_id
)
_ALL_ON: Final = ~sa.exists().where(~agent_switch.c.enabled)
_STANDING: Final = PreparedSelect(
    sa.select(
        delegation.c.user_id,
        delegation.c.agent_id,
        agent.c.owner_id,
        delegation.c.codes,
        delegation.c.ask_me,
        delegation.c.services,
        delegation.c.until,
        api_key.c.scopes,
        api_key.c.expire_time,
    )
    .select_from(
        delegation.join(agent, agent.c.user_id == delegation.c.agent_id).join(
            api_key, api_key.c.user_id == agent.c.user_id
        )
    )
    .where(
        delegation.c.id == sa.bindparam("delegation_id", type_=sa.BigInteger()),
        api_key.c.id == sa.bindparam("key_id", type_=sa.BigInteger()),
        agent.c.enabled,
        ~agent.c.suspended,
        agent.c.owner_id.is_not(None),
        _ALL_ON,
    ),
    lambda row: Standing(
        user_id=row[0],
        agent_id=row[1],
        owner_id=row[2],
        codes=tuple(row[3]),
        ask_me=tuple(row[4]),
        services=tuple(row[5]),
        until=row[6],
        key_scopes=None if row[7] is None else tuple(row[7]),
        key_expire_time=row[8],
    ),
)


async def parties(connection: Connection, delegation_id: int) -> tuple[int, int] | None:
    """Return the ids of the person and the agent of a delegation; None for an unknown one."""
    asked = sa.select(delegation.c.user_id, delegation.c.agent_id).where(delegation.c.id == delegation_id)
    row = (await connection.execute(asked)).one_or_none()
    return None if row is None else (row[0], row[1])


async def standing(source: Source, delegation_id: int, key_id: int) -> Standing | None:
    """Return the facts behind a delegation and a key of its agent; None if one is gone or switched off."""
    return await _STANDING.one_or_none(source, delegation_id=delegation_id, key_id=key_id)


async def add(
    connection: Connection,
    *,
    user_id: int,
    agent_id: int,
    codes: Collection[str],
    ask_me: Collection[str],
    services: Collection[str],
    seconds: int,
) -> StoredDelegation:
    """Store a delegation that expires in ``seconds``."""
    new = sa.insert(delegation).values(
        user_id=user_id,
        agent_id=agent_id,
        codes=list(codes),
        ask_me=list(ask_me),
        services=list(services),
        until=bans.end_after(seconds),
    )
    made = (await connection.execute(new.returning(delegation.c.id))).scalar_one()
    (stored,) = await find(connection, delegation.c.id == made)
    return stored


async def find(connection: Connection, *conditions: sa.ColumnElement[bool]) -> list[StoredDelegation]:
    """Return the delegations in force that meet all ``conditions``, the newest first."""
    asked = _DELEGATION.select.select_from(_FROM).where(delegation.c.until > sa.func.now(), *conditions)
    return await _DELEGATION.all(connection, asked.order_by(delegation.c.id.desc()))


async def of_person(connection: Connection, user_id: int) -> list[StoredDelegation]:
    """Return the delegations of a person in force, the newest first."""
    return await find(connection, delegation.c.user_id == user_id)


async def listed(connection: Connection, user_id: int | None, agent_id: int | None) -> list[StoredDelegation]:
    """Return the delegations in force of a person, of an agent, or all; at most ``MOST_LISTED``."""
    conditions = []
    if user_id is not None:
        conditions.append(delegation.c.user_id == user_id)
    if agent_id is not None:
        conditions.append(delegation.c.agent_id == agent_id)
    asked = _DELEGATION.select.select_from(_FROM).where(delegation.c.until > sa.func.now(), *conditions)
    return await _DELEGATION.all(connection, asked.order_by(delegation.c.id.desc()).limit(MOST_LISTED))


MOST_LISTED: Final = 1_000
"""Delegations in one answer."""


async def end(
    connection: Connection, delegation_id: int, user_id: int | None = None
) -> StoredDelegation | None:
    """Delete a delegation in force, of ``user_id`` if given, and return it; None if there is none."""
    conditions = [delegation.c.id == delegation_id]
    if user_id is not None:
        conditions.append(delegation.c.user_id == user_id)
    ending = await find(connection, *conditions)
    if not ending:
        return None
    gone = sa.delete(delegation).where(delegation.c.id == delegation_id).returning(delegation.c.id)
    return ending[0] if (await connection.execute(gone)).first() is not None else None


async def forget_expired(connection: Connection, most: int) -> int:
    """Delete at most ``most`` expired delegations; return their number."""
    return await delete_some(connection, delegation, delegation.c.until <= sa.func.now(), most)
