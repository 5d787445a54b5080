"""``sys.directory``: directories, the users known to them, and their assignments.

Callers that change a directory or its assignments hold ``role_rights.lock``.
"""

from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa
from msgspec import Struct
from sqlalchemy.dialects.postgresql import ARRAY, distinct_on
from sqlalchemy.dialects.postgresql import insert as upsert

from service.features.directories.schema import Directory, DirectoryValues, directory
from service.kernel.feature import provided
from service.records.assignments import instant, not_ended
from service.records.database.filters import among
from service.records.database.row_mapper import RowMapper
from service.records.database.transactions import Connection
from service.records.schema.of_users import directory_account
from service.records.schema.rights import role, user, user_role

GroupsOf = Callable[[sa.ColumnElement[Any], str], "sa.Select[Any]"]
"""Returns the query of a user's group names in a directory: the port ``directory-groups``."""


class Member(Struct, frozen=True, kw_only=True):
    """A member who waits for roles by the ``groups`` of a directory, which grant them until ``until``.

    ``since`` is the time of the sign-in that reported the groups. SCIM has no expiry: both are None.
    """

    user_id: int
    groups: Sequence[str]
    since: datetime | None
    until: datetime | None


class Assigned(Struct, frozen=True):
    """A role assigned to a user by a directory, and its expiry; None for no expiry."""

    id: int
    role_id: int
    role_code: str
    valid_from: datetime | None
    valid_until: datetime | None


_DIRECTORY: Final = RowMapper(Directory, directory, client=user.c.user_name)
_DIRECTORIES: Final = _DIRECTORY.select.select_from(
    directory.outerjoin(user, user.c.id == directory.c.client_id)
)
_ASSIGNED: Final = RowMapper(Assigned, user_role, role_code=role.c.role_code)


async def every(connection: Connection) -> list[Directory]:
    """Return all directories, by name."""
    return await _DIRECTORY.all(connection, _DIRECTORIES.order_by(directory.c.name))


async def named(connection: Connection, name: str) -> Directory | None:
    """Return the directory with that name, or None."""
    return await _DIRECTORY.one_or_none(connection, _DIRECTORIES.where(directory.c.name == name))


async def cut_off_providers(connection: Connection) -> set[str]:
    """Return the names of the disabled providers, which open no sessions: the port ``cut-off``."""
    statement = sa.select(directory.c.name).where(directory.c.kind == "oidc", ~directory.c.enabled)
    return set((await connection.execute(statement)).scalars())


async def of_client(connection: Connection, user_id: int) -> Directory | None:
    """Return the directory for which a service account provisions, or None."""
    return await _DIRECTORY.one_or_none(connection, _DIRECTORIES.where(directory.c.client_id == user_id))


async def put(connection: Connection, name: str, values: DirectoryValues) -> Directory:
    """Create or replace a directory; its members then wait for their roles."""
    columns = {
        "kind": values.kind,
        "client_id": values.client_id,
        "mapping": {group: list(codes) for group, codes in values.mapping.items()},
        "ceiling": list(values.ceiling),
        "enabled": values.enabled,
        "waiting_after": 0 if values.enabled else None,
    }
    written = upsert(directory).values(name=name, **columns)
    edited = {**columns, "version": directory.c.version + 1, "update_time": sa.func.now()}
    edited["updated_by"] = written.excluded.updated_by
    await connection.execute(written.on_conflict_do_update(index_elements=["name"], set_=edited))
    stored = await named(connection, name)
    assert stored is not None  # noqa: S101 - it was written
    return stored


async def delete(connection: Connection, name: str) -> None:
    """Delete a directory; its provisioned accounts are then managed by no directory."""
    await connection.execute(sa.delete(directory).where(directory.c.name == name))
    managed = directory_account.c.managed & (directory_account.c.source == name)
    await connection.execute(sa.delete(directory_account).where(managed))


async def known(connection: Connection, source: str, user_ids: Collection[int]) -> set[int]:
    """Return the given users who are known to a directory."""
    of_source = directory_account.c.source == source
    rows = sa.select(directory_account.c.user_id).where(
        of_source, among(directory_account.c.user_id, user_ids)
    )
    return set((await connection.execute(rows)).scalars())


async def has_linked_accounts(connection: Connection, source: str) -> bool:
    """Return true if accounts are linked to the source, which need not be a stored directory."""
    linked = sa.select(directory_account.c.user_id).where(directory_account.c.source == source)
    return (await connection.execute(linked.limit(1))).one_or_none() is not None


async def add_origin(
    connection: Connection,
    source: str,
    issuer: str,
    subject: str,
    user_id: int,
    *,
    managed: bool,
    linked_by: Collection[int] = (),
) -> bool:
    """Link a user to ``subject`` in a directory; return false if the subject is already linked.

    ``linked_by`` is that of ``Origin``; empty if the directory itself reports the link.
    """
    written = upsert(directory_account).values(
        source=source,
        issuer=issuer,
        subject=subject,
        user_id=user_id,
        managed=managed,
        linked_by=sorted(linked_by),
    )
    new = written.on_conflict_do_nothing().returning(directory_account.c.user_id)
    return (await connection.execute(new)).one_or_none() is not None


async def remove_origin(connection: Connection, source: str, user_id: int) -> bool:
    """Remove the link between a directory and a user; return true if there was a link."""
    known = (directory_account.c.source == source) & (directory_account.c.user_id == user_id)
    return (await connection.execute(sa.delete(directory_account).where(known))).rowcount > 0


async def some_wait(connection: Connection) -> bool:
    """Return true if members of a directory wait for their roles."""
    waiting = sa.select(directory.c.name).where(directory.c.waiting_after.is_not(None))
    return (await connection.execute(waiting.limit(1))).one_or_none() is not None


async def waiting_members(
    connection: Connection, waiting: Directory, at: datetime, most: int
) -> list[Member]:
    """Return the next members of a directory who wait for their roles, by user id.

    These are users with a role of the directory, or in a group that grants a role. Members of a provider do
    not wait if their groups are unknown or their last sign-in is too old: their roles expire.
    """
    account, groups = directory_account.c, sa.bindparam("mapped", list(waiting.mapping), type_=ARRAY(sa.Text))
    has_role = sa.exists().where(
        user_role.c.user_id == account.user_id, user_role.c.directory == waiting.name
    )
    member_of: sa.ColumnElement[Any]
    known: sa.ColumnElement[bool]
    if waiting.kind == "oidc":
        member_of = account.groups
        in_group = sa.func.jsonb_exists_any(account.groups, groups)
        known = account.groups.is_not(None) & (account.roles_until > at)
    else:
        groups_of: GroupsOf = provided("directory-groups")[waiting.kind]
        of_user = groups_of(account.user_id, waiting.name).correlate(directory_account)
        member_of = sa.func.to_jsonb(sa.func.array(of_user.scalar_subquery()))
        in_group = sa.func.jsonb_exists_any(member_of, groups)
        known = sa.true()
    statement = (
        sa.select(account.user_id, member_of.label("groups"), account.groups_time, account.roles_until)
        .where(account.source == waiting.name, account.user_id > (waiting.waiting_after or 0))
        .where(known, has_role | in_group)
        .order_by(account.user_id, account.groups_time.desc())
        .ext(distinct_on(account.user_id))
        .limit(most)
    )
    rows = await connection.execute(statement)
    return [
        Member(user_id=row.user_id, groups=row.groups, since=row.groups_time, until=row.roles_until)
        for row in rows
    ]


async def wait_after(connection: Connection, name: str, user_id: int | None) -> None:
    """Store the user behind whom members wait for roles; None if no member waits."""
    statement = sa.update(directory).where(directory.c.name == name)
    # Not an edit: the last editor of the mapping stays recorded.
    await connection.execute(statement.values(waiting_after=user_id, updated_by=directory.c.updated_by))


async def assigned(
    connection: Connection, source: str, user_ids: Collection[int], at: datetime
) -> dict[int, list[Assigned]]:
    """Return the roles assigned by a directory and in force or in future at that time, by user."""
    chosen = sa.select(user_role.c.user_id, *_ASSIGNED.columns)
    chosen = chosen.join_from(user_role, role, role.c.id == user_role.c.role_id)
    of_users = among(user_role.c.user_id, user_ids) & (user_role.c.directory == source)
    made: dict[int, list[Assigned]] = {}
    for row in await connection.execute(
        chosen.where(of_users, not_ended(instant(at))).order_by(user_role.c.id)
    ):
        made.setdefault(row.user_id, []).append(_ASSIGNED.of(row))
    return made


async def roles_from_other_sources(
    connection: Connection, source: str, user_ids: Collection[int]
) -> dict[int, set[int]]:
    """Return the present and future roles of users from other sources than this directory, by user."""
    beside = user_role.c.directory.is_distinct_from(source) & among(user_role.c.user_id, user_ids)
    rows = sa.select(user_role.c.user_id, user_role.c.role_id).where(beside, not_ended(instant(None)))
    made: dict[int, set[int]] = {}
    for user_id, role_id in await connection.execute(rows):
        made.setdefault(user_id, set()).add(role_id)
    return made


async def granting_directory(connection: Connection, user_id: int, role_ids: Collection[int]) -> str | None:
    """Return a directory that granted one of these roles to a user; None without one."""
    given = user_role.c.directory.is_not(None) & user_role.c.role_id.in_(role_ids)
    chosen = sa.select(user_role.c.directory).where(user_role.c.user_id == user_id, given)
    return (await connection.execute(chosen.limit(1))).scalar_one_or_none()


async def role_ids(connection: Connection, codes: Collection[str]) -> dict[str, int]:
    """Return the ids of the roles with these codes; unknown codes are omitted."""
    rows = sa.select(role.c.role_code, role.c.id).where(role.c.role_code.in_(codes))
    return {row.role_code: row.id for row in await connection.execute(rows)}
