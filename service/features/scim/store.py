"""``sys.scim_user`` and ``sys.scim_group``: users and groups provisioned by directories.

Callers that make changes hold ``role_rights.lock``.
"""

from collections.abc import Collection
from datetime import datetime
from itertools import accumulate
from typing import Any, Final, TypeVar

import sqlalchemy as sa
from msgspec import Struct, structs
from sqlalchemy.dialects.postgresql import insert as upsert

from service.features.directories.schema import directory as directory_table
from service.features.scim.filters import Filter, Place
from service.features.scim.schema import scim_group, scim_member, scim_user
from service.features.scim.store_conditions import GROUP_COLUMNS, USER_COLUMNS, condition, order_of
from service.kernel.fields import names_of, values_of
from service.kernel.text import name_key
from service.records.database.filters import among, each_of
from service.records.database.row_mapper import PreparedSelect, RowMapper, Source
from service.records.database.transactions import Connection
from service.records.schema.rights import user

R = TypeVar("R")

MOST_MEMBERS: Final = 100_000
"""The maximum number of members of a group, and of the groups of a page together."""


class Known(Struct, frozen=True, kw_only=True):
    """Attributes of a directory's user that the account has no column for."""

    external_id: str | None = None
    display_name: str | None = None
    formatted_name: str | None = None
    email_type: str | None = None


class ProvisionedUser(Known, frozen=True, kw_only=True):
    """A user provisioned by a directory.

    ``linked`` has the ids and names of the user's groups, such as ``7 Auditors``; empty if they were not
    read.
    """

    id: int
    user_name: str
    nick_name: str
    email: str | None
    language: str | None
    time_zone: str | None
    status: str
    version: int
    create_time: datetime
    update_time: datetime
    linked: tuple[str, ...] = ()

    @property
    def groups(self) -> list[tuple[int, str]]:
        """The ids and names of the user's groups."""
        pairs = (text.split(" ", 1) for text in self.linked)
        return [(int(group_id), name) for group_id, name in pairs]


class Group(Struct, frozen=True, kw_only=True):
    """A group of a directory; ``members`` are the ids and names of its users, empty if they were not read."""

    id: int
    display_name: str
    external_id: str | None
    version: int
    create_time: datetime
    update_time: datetime
    members: tuple[tuple[int, str], ...] = ()


class Chosen(Struct, frozen=True):
    """A page of a directory's resources that match ``term``: ``skipped`` are skipped, ``most`` follow.

    Ordered by ``sort``, by id without it.
    """

    directory: str
    term: Filter | None
    skipped: int = 0
    most: int = 200
    sort: Place | None = None
    descending: bool = False


_SAID: Final = {name: scim_user.c[name] for name in names_of(Known)}
_linked: Final = (
    sa.select(sa.cast(scim_group.c.id, sa.Text) + " " + scim_group.c.display_name)
    .join(scim_member, scim_member.c.group_id == scim_group.c.id)
    .where(scim_member.c.user_id == scim_user.c.user_id)
    .order_by(scim_group.c.id)
    .correlate(scim_user)
)
_USER: Final = RowMapper(
    ProvisionedUser,
    user,
    (),
    linked=sa.func.array(_linked.scalar_subquery(), type_=sa.ARRAY(sa.Text)),
    **_SAID,
)
_USER_ALONE: Final = RowMapper(ProvisionedUser, user, ["linked"], **_SAID)
_GROUP: Final = RowMapper(Group, scim_group, without=["members"])
_USERS: Final = scim_user.join(user, user.c.id == scim_user.c.user_id)
_OWN_USER: Final = PreparedSelect(
    _USER.select.select_from(
        _USERS.join(directory_table, directory_table.c.name == scim_user.c.directory)
    ).where(
        directory_table.c.client_id == sa.bindparam("client_id", type_=sa.BigInteger()),
        scim_user.c.user_id == sa.bindparam("user_id", type_=sa.BigInteger()),
        directory_table.c.enabled,
        ~scim_user.c.gone,
    ),
    _USER.of_values,
)


async def users(
    connection: Connection, chosen: Chosen, *, linked: bool = True
) -> tuple[list[ProvisionedUser], int]:
    """Return users of a directory, and their number; ScimFault for an unsupported filter or order.

    ``linked``: with their groups.
    """
    conditions = [scim_user.c.directory == chosen.directory, ~scim_user.c.gone]
    if chosen.term is not None:
        conditions.append(condition(chosen.term, USER_COLUMNS))
    statement = _USER_ALONE.select.select_from(_USERS).where(*conditions)
    statement = statement.order_by(*order_of(chosen.sort, USER_COLUMNS, descending=chosen.descending))
    listed, total = await _page(connection, _USER_ALONE, statement, chosen)
    # A separate query, so that the groups of skipped users are not read.
    pairs = await _pairs(connection, scim_member.c.user_id, [each.id for each in listed] if linked else [])
    groups = {user_id: [f"{each} {name}" for each, name in listed] for user_id, listed in pairs.items()}
    return [structs.replace(each, linked=tuple(groups.get(each.id, ()))) for each in listed], total


async def one_user(
    connection: Connection, directory: str, user_id: int, *, linked: bool = True
) -> ProvisionedUser | None:
    """Return a user of a directory, or None; ``linked``: with its groups."""
    mapper = _USER if linked else _USER_ALONE
    known = (scim_user.c.user_id == user_id) & (scim_user.c.directory == directory) & ~scim_user.c.gone
    return await mapper.one_or_none(connection, mapper.select.select_from(_USERS).where(known))


async def user_of_client(source: Source, client_id: int, user_id: int) -> ProvisionedUser | None:
    """Return a user of a client's directory, None if it is cut off; uses a single statement."""
    return await _OWN_USER.one_or_none(source, client_id=client_id, user_id=user_id)


async def put_user(connection: Connection, directory: str, user_id: int, known: Known) -> None:
    """Store a directory's attributes of a user, and clear the mark of a deleted user."""
    values = values_of(known, Known) | {"gone": False}
    written = upsert(scim_user).values(user_id=user_id, directory=directory, **values)
    await connection.execute(written.on_conflict_do_update(index_elements=["user_id"], set_=values))


async def forget_user(connection: Connection, user_id: int) -> None:
    """Store that a directory has deleted a user, and remove the user from its groups."""
    of_user = scim_user.c.user_id == user_id
    await connection.execute(sa.update(scim_user).where(of_user).values(gone=True))
    mine = sa.delete(scim_member).where(scim_member.c.user_id == user_id)
    groups = (await connection.execute(mine.returning(scim_member.c.group_id))).scalars().all()
    await _raise_versions(connection, groups)


async def deleted_user(connection: Connection, directory: str, user_name: str) -> int | None:
    """Return the id of the user with that name whom the directory has deleted, or None."""
    known = (scim_user.c.directory == directory) & scim_user.c.gone
    named = sa.select(user.c.id).select_from(_USERS)
    statement = named.where(known, user.c.user_name_key == name_key(user_name))
    return (await connection.execute(statement)).scalar_one_or_none()


async def groups_of(connection: Connection, user_ids: Collection[int]) -> dict[int, list[str]]:
    """Return the names of the groups of users, by user."""
    pairs = await _pairs(connection, scim_member.c.user_id, user_ids)
    return {user_id: [name for _, name in pairs.get(user_id, ())] for user_id in user_ids}


async def groups(connection: Connection, chosen: Chosen, *, linked: bool = True) -> tuple[list[Group], int]:
    """Return groups of a directory, and their number; ScimFault for an unsupported filter or order.

    ``linked``: with their members, which may reduce the page to groups with ``MOST_MEMBERS`` together.
    """
    conditions = [scim_group.c.directory == chosen.directory]
    if chosen.term is not None:
        conditions.append(condition(chosen.term, GROUP_COLUMNS))
    statement = _GROUP.select.where(*conditions)
    statement = statement.order_by(*order_of(chosen.sort, GROUP_COLUMNS, descending=chosen.descending))
    listed, total = await _page(connection, _GROUP, statement, chosen)
    if not linked:
        return listed, total
    listed = await _within(connection, listed)
    members = await _pairs(connection, scim_member.c.group_id, [each.id for each in listed])
    return [structs.replace(each, members=members.get(each.id, ())) for each in listed], total


async def one_group(
    connection: Connection, directory: str, group_id: int, *, linked: bool = True
) -> Group | None:
    """Return a group of a directory, or None; ``linked``: with its members."""
    known = (scim_group.c.id == group_id) & (scim_group.c.directory == directory)
    stored = await _GROUP.only(connection, known)
    if stored is None or not linked:
        return stored
    members = await _pairs(connection, scim_member.c.group_id, [group_id])
    return structs.replace(stored, members=members.get(group_id, ()))


async def is_taken(connection: Connection, directory: str, display_name: str, but: int = 0) -> bool:
    """Return whether another group of the directory has that name, ignoring case like filters."""
    folded = GROUP_COLUMNS["displayName"]
    same = folded.sql == folded.key(display_name)
    others = (scim_group.c.directory == directory) & (scim_group.c.id != but)
    chosen = sa.select(sa.exists().where(others, same))
    return bool((await connection.execute(chosen)).scalar_one())


async def create_group(
    connection: Connection, directory: str, display_name: str, external_id: str | None
) -> int:
    """Write a group without members, and return its id."""
    values = {"directory": directory, "display_name": display_name, "external_id": external_id}
    written = sa.insert(scim_group).values(values).returning(scim_group.c.id)
    group_id: int = (await connection.execute(written)).scalar_one()
    return group_id


async def update_group(
    connection: Connection, group_id: int, display_name: str, external_id: str | None
) -> None:
    """Store the values of a group, and raise its version."""
    values = {"display_name": display_name, "external_id": external_id}
    await connection.execute(sa.update(scim_group).where(scim_group.c.id == group_id).values(values))
    await _raise_versions(connection, [group_id])


async def delete_group(connection: Connection, group_id: int) -> None:
    await connection.execute(sa.delete(scim_group).where(scim_group.c.id == group_id))


async def known_users(connection: Connection, directory: str, user_ids: Collection[int]) -> set[int]:
    """Return the ids that belong to users of the directory."""
    known = (scim_user.c.directory == directory) & ~scim_user.c.gone
    chosen = sa.select(scim_user.c.user_id).where(known, among(scim_user.c.user_id, user_ids))
    return set((await connection.execute(chosen)).scalars())


async def change_members(
    connection: Connection, group_id: int, added: Collection[int], removed: Collection[int]
) -> None:
    """Add users to a group, and remove others."""
    if added:
        rows = sa.select(sa.literal(group_id, sa.BigInteger), each_of(added))
        await connection.execute(sa.insert(scim_member).from_select(["group_id", "user_id"], rows))
    if removed:
        gone = among(scim_member.c.user_id, removed)
        await connection.execute(sa.delete(scim_member).where(scim_member.c.group_id == group_id, gone))


async def _raise_versions(connection: Connection, group_ids: Collection[int]) -> None:
    if group_ids:
        raised = {"version": scim_group.c.version + 1, "update_time": sa.func.now()}
        await connection.execute(
            sa.update(scim_group).where(among(scim_group.c.id, group_ids)).values(raised)
        )


async def _within(connection: Connection, listed: list[Group]) -> list[Group]:
    """Return the first groups that have at most ``MOST_MEMBERS`` together, but at least one."""
    counted = sa.select(scim_member.c.group_id, sa.func.count().label("members")).group_by(
        scim_member.c.group_id
    )
    rows = await connection.execute(
        counted.where(among(scim_member.c.group_id, [each.id for each in listed]))
    )
    sizes = {row.group_id: row.members for row in rows}
    sums = accumulate(sizes.get(each.id, 0) for each in listed)
    fitting = sum(1 for members in sums if members <= MOST_MEMBERS)
    return listed[: max(fitting, 1)]


async def _page(
    connection: Connection, mapper: RowMapper[R], statement: sa.Select[Any], chosen: Chosen
) -> tuple[list[R], int]:
    """Return a page of the records of ``statement``, and their number, counted only where needed."""
    listed = await mapper.all(connection, statement.offset(chosen.skipped).limit(chosen.most))
    if len(listed) < chosen.most and (listed or not chosen.skipped):
        return listed, chosen.skipped + len(listed)
    counted = statement.with_only_columns(sa.func.count()).order_by(None)
    return listed, int((await connection.execute(counted)).scalar_one())


async def _pairs(
    connection: Connection, by: sa.ColumnElement[int], ids: Collection[int]
) -> dict[int, tuple[tuple[int, str], ...]]:
    """Return the groups by user, or the members by group: the ids and names of each."""
    if not ids:
        return {}
    of_user = by is scim_member.c.user_id
    other, table = (scim_member.c.group_id, scim_group) if of_user else (scim_member.c.user_id, user)
    name = scim_group.c.display_name if of_user else user.c.user_name
    rows = sa.select(by, other, name).select_from(scim_member.join(table, table.c.id == other))
    chosen = rows.where(among(by, ids)).order_by(other)
    made: dict[int, list[tuple[int, str]]] = {}
    for key, other_id, shown in await connection.execute(chosen):
        made.setdefault(key, []).append((other_id, shown))
    return {key: tuple(pairs) for key, pairs in made.items()}


def names_of_groups(user_id: sa.ColumnElement[Any], source: str) -> "sa.Select[Any]":
    """Return the query for the names of a user's groups in the directory ``source``."""
    return (
        sa.select(scim_group.c.display_name)
        .join(scim_member, scim_member.c.group_id == scim_group.c.id)
        .where(scim_member.c.user_id == user_id, scim_group.c.directory == source)
    )


async def in_need(connection: Connection) -> tuple[int, str]:
    """Return the number of enabled directories that provision through SCIM, and why it matters."""
    enabled = directory_table.c.enabled & (directory_table.c.kind == "scim")
    statement = sa.select(sa.func.count()).select_from(directory_table).where(enabled)
    count: int = (await connection.execute(statement)).scalar_one()
    return count, (
        "enabled directories provision accounts by SCIM, and could no longer disable users: cut them off "
        "or delete them first"
    )
