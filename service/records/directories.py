"""``sys.directory``: directories, the accounts that they know, what they have assigned, and their sign-ins.

Callers that change one, or what it has assigned, hold ``role_rights.lock``.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal, TypeAlias

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.ext.asyncio import AsyncConnection

from service.records.assignments import instant, not_ended
from service.records.database.row_mapper import RowMapper
from service.records.schema.directories import directory, directory_account, directory_session
from service.records.schema.rights import role, user, user_role

Kind: TypeAlias = Literal["oidc", "scim"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectoryValues:
    """What an administrator says of a directory.

    ``mapping`` has the codes of the roles that each group gives, by the name of the group. ``ceiling`` are
    the permission codes that the directory may hand out. ``client_id`` is the service account of a client
    that provisions; a provider of OpenID Connect has none.
    """

    kind: Kind
    client_id: int | None
    mapping: Mapping[str, Sequence[str]]
    ceiling: tuple[str, ...]
    enabled: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Directory(DirectoryValues):
    """A stored directory; ``version`` rises with each edit. ``client`` is the name of its service account."""

    name: str
    client: str | None
    version: int
    create_time: datetime
    update_time: datetime
    updated_by: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """That the directory ``source`` knows a user as ``subject``; it is ``managed`` if it decides the values.

    ``issuer`` is that of a provider, "" for the id of a client that provisions.
    """

    source: str
    issuer: str
    subject: str
    user_id: int
    managed: bool
    create_time: datetime
    last_time: datetime | None


@dataclass(frozen=True, slots=True)
class Assigned:
    """A role that a directory has assigned to a user, until when; None for no end."""

    id: int
    role_id: int
    role_code: str
    valid_from: datetime | None
    valid_until: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedIn:
    """A device session that was opened by signing in with a provider, whose session is ``sid``, if known."""

    user_id: int
    device: str
    source: str
    issuer: str
    subject: str
    sid: str | None
    opened_time: datetime


_DIRECTORY: Final = RowMapper(Directory, directory, client=user.c.user_name)
_DIRECTORIES: Final = sa.select(*_DIRECTORY.columns).select_from(
    directory.outerjoin(user, user.c.id == directory.c.client_id)
)
_ORIGIN: Final = RowMapper(Origin, directory_account)
_ASSIGNED: Final = RowMapper(Assigned, user_role, role_code=role.c.role_code)
_SIGNED_IN: Final = RowMapper(SignedIn, directory_session)


async def every(connection: AsyncConnection) -> list[Directory]:
    """Return all directories, by name."""
    return await _DIRECTORY.all(connection, _DIRECTORIES.order_by(directory.c.name))


async def named(connection: AsyncConnection, name: str) -> Directory | None:
    """Return the directory with that name, or None."""
    return await _DIRECTORY.one_or_none(connection, _DIRECTORIES.where(directory.c.name == name))


async def of_client(connection: AsyncConnection, user_id: int) -> Directory | None:
    """Return the directory for which that service account provisions, or None."""
    return await _DIRECTORY.one_or_none(connection, _DIRECTORIES.where(directory.c.client_id == user_id))


async def put(connection: AsyncConnection, name: str, values: DirectoryValues) -> Directory:
    """Store a directory, in the place of another one of that name."""
    columns = {
        "kind": values.kind,
        "client_id": values.client_id,
        "mapping": {group: list(codes) for group, codes in values.mapping.items()},
        "ceiling": list(values.ceiling),
        "enabled": values.enabled,
    }
    written = upsert(directory).values(name=name, **columns)
    edited = {**columns, "version": directory.c.version + 1, "update_time": sa.func.now()}
    edited["updated_by"] = written.excluded.updated_by
    await connection.execute(written.on_conflict_do_update(index_elements=["name"], set_=edited))
    stored = await named(connection, name)
    assert stored is not None  # noqa: S101 - it was written
    return stored


async def delete(connection: AsyncConnection, name: str) -> None:
    """Delete a directory; nobody manages the accounts any more that it has provisioned."""
    await connection.execute(sa.delete(directory).where(directory.c.name == name))
    managed = directory_account.c.managed & (directory_account.c.source == name)
    await connection.execute(sa.delete(directory_account).where(managed))


async def origin(connection: AsyncConnection, source: str, issuer: str, subject: str) -> Origin | None:
    """Return which user a directory knows as ``subject``, or None."""
    table = directory_account.c
    same = (table.source == source) & (table.issuer == issuer) & (table.subject == subject)
    return await _ORIGIN.one_or_none(connection, sa.select(*_ORIGIN.columns).where(same))


async def origins_of(connection: AsyncConnection, user_id: int) -> list[Origin]:
    """Return the directories that know a user, by name."""
    statement = sa.select(*_ORIGIN.columns).where(directory_account.c.user_id == user_id)
    return await _ORIGIN.all(
        connection, statement.order_by(directory_account.c.source, directory_account.c.create_time)
    )


async def knows(connection: AsyncConnection, source: str, user_id: int) -> bool:
    """Tell whether a directory knows a user."""
    known = (directory_account.c.source == source) & (directory_account.c.user_id == user_id)
    return bool((await connection.execute(sa.select(sa.exists().where(known)))).scalar_one())


async def add_origin(
    connection: AsyncConnection, source: str, issuer: str, subject: str, user_id: int, *, managed: bool
) -> bool:
    """Store that a directory knows a user as ``subject``; False if it knows somebody as that already."""
    written = upsert(directory_account).values(
        source=source, issuer=issuer, subject=subject, user_id=user_id, managed=managed
    )
    new = written.on_conflict_do_nothing().returning(directory_account.c.user_id)
    return (await connection.execute(new)).one_or_none() is not None


async def remove_origin(connection: AsyncConnection, source: str, user_id: int) -> bool:
    """Forget that a directory knows a user; returns whether it did."""
    known = (directory_account.c.source == source) & (directory_account.c.user_id == user_id)
    return (await connection.execute(sa.delete(directory_account).where(known))).rowcount > 0


async def touch(connection: AsyncConnection, source: str, issuer: str, subject: str) -> None:
    """Store that a user has signed in with a provider now."""
    table = directory_account.c
    same = (table.source == source) & (table.issuer == issuer)
    statement = sa.update(directory_account).where(same, table.subject == subject)
    await connection.execute(statement.values(last_time=sa.func.now()))


async def manager_of(connection: AsyncConnection, user_id: int) -> str | None:
    """Return the name of the directory that manages a user, None for nobody."""
    managed = directory_account.c.managed & (directory_account.c.user_id == user_id)
    chosen = sa.select(directory_account.c.source).where(managed).order_by(directory_account.c.source)
    return (await connection.execute(chosen.limit(1))).scalar_one_or_none()


async def assigned(connection: AsyncConnection, source: str, user_id: int, at: datetime) -> list[Assigned]:
    """Return what a directory has assigned to a user, and has not ended at that instant."""
    chosen = sa.select(*_ASSIGNED.columns).join_from(user_role, role, role.c.id == user_role.c.role_id)
    of_user = (user_role.c.user_id == user_id) & (user_role.c.directory == source)
    return await _ASSIGNED.all(
        connection, chosen.where(of_user, not_ended(instant(at))).order_by(user_role.c.id)
    )


async def role_ids_beside(connection: AsyncConnection, source: str, user_id: int) -> set[int]:
    """Return the roles that a user has, or will have, by others than this directory."""
    beside = user_role.c.directory.is_distinct_from(source) & (user_role.c.user_id == user_id)
    rows = sa.select(user_role.c.role_id).where(beside, not_ended(instant(None)))
    return set((await connection.execute(rows)).scalars())


async def giving(connection: AsyncConnection, user_id: int, role_ids: Collection[int]) -> str | None:
    """Return a directory that has assigned one of these roles to a user; None if none has."""
    given = user_role.c.directory.is_not(None) & user_role.c.role_id.in_(role_ids)
    chosen = sa.select(user_role.c.directory).where(user_role.c.user_id == user_id, given)
    return (await connection.execute(chosen.limit(1))).scalar_one_or_none()


async def role_ids(connection: AsyncConnection, codes: Collection[str]) -> dict[str, int]:
    """Return the ids of the roles with these codes; unknown codes are left out."""
    rows = sa.select(role.c.role_code, role.c.id).where(role.c.role_code.in_(codes))
    return {row.role_code: row.id for row in await connection.execute(rows)}


async def signed_in(connection: AsyncConnection, session: SignedIn) -> None:
    """Store by which sign-in a device session was opened, in the place of an earlier one on the device."""
    columns = {name: getattr(session, name) for name in SignedIn.__dataclass_fields__}
    written = upsert(directory_session).values(**columns)
    keys = ["user_id", "device"]
    others = {name: value for name, value in columns.items() if name not in keys}
    await connection.execute(written.on_conflict_do_update(index_elements=keys, set_=others))


async def sign_ins(
    connection: AsyncConnection, source: str, *, subject: str | None = None, sid: str | None = None
) -> list[SignedIn]:
    """Return the sessions that were opened with a provider: of this subject and session, if given."""
    table = directory_session.c
    conditions = [table.source == source]
    if subject is not None:
        conditions.append(table.subject == subject)
    if sid is not None:
        conditions.append(table.sid == sid)
    statement = sa.select(*_SIGNED_IN.columns).where(*conditions)
    return await _SIGNED_IN.all(connection, statement.order_by(table.user_id, table.device))


async def sign_in_of(connection: AsyncConnection, user_id: int, device: str) -> SignedIn | None:
    """Return the sign-in that has opened the session of a user on a device, or None."""
    table = directory_session.c
    of_device = (table.user_id == user_id) & (table.device == device)
    return await _SIGNED_IN.one_or_none(connection, sa.select(*_SIGNED_IN.columns).where(of_device))
