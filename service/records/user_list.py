"""``sys.user`` as administrators see it: one user, pages of users with their roles, tables of users."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated, Any, Final, Literal

from msgspec import Meta, Struct
from sqlalchemy import ARRAY, BigInteger, Select, any_, bindparam, exists, false, func, select, text
from sqlalchemy.ext.asyncio import AsyncConnection

from service.errors import NotFound
from service.kernel.core_sentences import sentence
from service.kernel.domains import plain_address
from service.kernel.fields import ITS_TYPE, Field, declared
from service.kernel.identity import Kind
from service.kernel.languages import LANGUAGES, language_fault, spelling_of
from service.kernel.text import MAX_NAME_LENGTH, MAX_USER_NAME, name_fault, name_key, text_fault
from service.kernel.time_zones import MAX_ZONE, zone_fault
from service.kernel.value_rules import AVATAR, EMAIL, ID, PHONE, Id, service_fault
from service.records.assignments import instant, not_ended
from service.records.bans import in_force, with_bans
from service.records.database import filters
from service.records.database.paging import Page, order_by, page_of, sorts_of
from service.records.database.row_mapper import PreparedSelect, RowMapper
from service.records.factors import has_factor
from service.records.roles import demanding
from service.records.schema.of_users import directory_account
from service.records.schema.rights import role, user, user_ban, user_login, user_role

Status = Literal["enabled", "disabled"]
Gender = Literal["female", "male", "other"]
NAME: Final = Meta(max_length=MAX_NAME_LENGTH, examples=["heron"])
USER_NAME: Final = Meta(max_length=MAX_USER_NAME, examples=["heron"])


@dataclass(frozen=True, slots=True, kw_only=True)
class UserNames:
    """The names of a user: ``user_name`` to log in with, ``nick_name`` to be shown."""

    user_name: Annotated[str, Field(name_fault, in_passwords=True), USER_NAME]
    nick_name: Annotated[str, Field(text_fault, in_passwords=True, own=True), NAME]


@declared
@dataclass(frozen=True, slots=True, kw_only=True)
class UserValues(UserNames):
    """The fields of a user that are given; ``service`` is the service that a service account is bound to."""

    email: Annotated[
        str | None,
        Field(EMAIL, in_passwords=True, own=True, spelling=plain_address),
        Meta(examples=["heron@example.org"]),
    ] = None
    phone: Annotated[
        str | None, Field(PHONE, in_passwords=True, own=True), Meta(examples=["+49 30 1234567"])
    ] = None
    gender: Annotated[Gender | None, Field(ITS_TYPE, own=True)] = None
    avatar: Annotated[
        str | None, Field(AVATAR, own=True), Meta(description="An http(s) URL or a path from `/`.")
    ] = None
    language: Annotated[
        str | None,
        Field(language_fault, own=True, late=True, spelling=spelling_of),
        Meta(
            max_length=35,
            examples=["zh-CN"],
            description=f"A shipped language: {' or '.join(LANGUAGES)}; null if none is chosen.",
        ),
    ] = None
    time_zone: Annotated[
        str | None,
        Field(zone_fault, own=True, late=True),
        Meta(
            max_length=MAX_ZONE,
            examples=["Asia/Shanghai"],
            description="A time zone of the IANA database; null if none is chosen.",
        ),
    ] = None
    status: Annotated[Status, Field(ITS_TYPE)] = "enabled"
    kind: Annotated[Kind, Field(ITS_TYPE, fixed=True)] = "person"
    service: Annotated[
        str | None,
        Field(service_fault),
        Meta(max_length=32, examples=["orders"], description="For service accounts only."),
    ] = None


class GivenRole(Struct, frozen=True):
    """A role that a user has, enabled or not, by an assignment that has not ended; it may begin later."""

    id: Id
    role_code: Annotated[str, Meta(examples=["auditor"])]
    role_name: Annotated[str, Meta(examples=["Auditor"])]


class BanInForce(Struct, frozen=True):
    """A ban that has not ended; ``until`` is None without an end.

    ``banned_by`` is the name of the user who banned, None if that user is gone.
    """

    until: datetime | None
    reason: Annotated[str, Meta(examples=["password shared"])]
    banned_by: Annotated[
        str | None,
        Meta(description="The user name of the author; null if deleted.", examples=["admin"]),
    ]
    create_time: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class User(UserValues):
    """A user; ``roles`` are by id, ``version`` rises with each edit; a ban or a login is no edit.

    ``last_login_time`` is None before the first login. ``invited``: a person without a password yet.
    ``recovery_email`` is the last confirmed address; ``email_verified``: it equals ``email``.
    ``email_agreed``: the owner agreed to ``email``; ``email_reached``: a link there was opened. ``directory``
    is the name of the directory that manages the account.
    """

    id: int
    version: int
    create_time: datetime
    update_time: datetime
    updated_by: str | None
    roles: tuple[GivenRole, ...] = ()
    ban: BanInForce | None = None
    last_login_time: datetime | None = None
    invited: bool = False
    email_verified: bool = False
    recovery_email: str | None = None
    email_agreed: bool = False
    email_reached: bool = False
    directory: str | None = None


_INVITED: Final = (user.c.kind == "person") & user.c.password_hash.is_(None)
_VERIFIED: Final = func.coalesce(user.c.recovery_email == user.c.email, false())
_AGREED: Final = func.coalesce(user.c.agreed_email == user.c.email, false())
_REACHED: Final = func.coalesce(user.c.reached_email == user.c.email, false())
_MANAGER: Final = (
    select(func.min(directory_account.c.source))
    .where(directory_account.c.user_id == user.c.id, directory_account.c.managed)
    .correlate(user)
    .scalar_subquery()
)
_BANNED: Final = user.c.id.in_(select(user_ban.c.user_id).where(in_force()))
_NOT_ENDED: Final = not_ended(instant(None))
_HAS_ROLE: Final = exists().where(user_role.c.user_id == user.c.id, _NOT_ENDED)


_USER_NAME: Final = filters.contains(user.c.user_name_key, lambda text: name_key(plain_address(text)))
_NICK_NAME: Final = filters.contains_folded(user.c.nick_name_folded)
_EMAIL: Final = filters.contains_folded(user.c.email_folded, plain_address)
_PHONE: Final = filters.contains(user.c.phone)


@dataclass(frozen=True, slots=True)
class UserFilter:
    """A filter of users: names, email and phone match by parts in any case, others exactly; None is any."""

    keyword: Annotated[
        str | None,
        filters.any_of(_USER_NAME, _NICK_NAME, _EMAIL, _PHONE),
        Meta(
            max_length=MAX_USER_NAME,
            description="A part of the user name, the name, the email or the phone number.",
        ),
    ] = None
    user_name: Annotated[str | None, _USER_NAME, Meta(max_length=MAX_USER_NAME)] = None
    nick_name: Annotated[str | None, _NICK_NAME, Meta(max_length=MAX_NAME_LENGTH)] = None
    email: Annotated[str | None, _EMAIL, Meta(max_length=EMAIL.most)] = None
    phone: Annotated[str | None, _PHONE, Meta(max_length=32)] = None
    status: Annotated[Collection[Status] | None, filters.one_of(user.c.status)] = None
    kind: Annotated[Collection[Kind] | None, filters.one_of(user.c.kind)] = None
    banned: Annotated[
        bool | None,
        filters.whether(_BANNED),
        Meta(description="Users with a ban in force, or only those without."),
    ] = None
    has_role: Annotated[
        bool | None,
        filters.whether(_HAS_ROLE),
        Meta(description="Users with a role, enabled or not, or only those without."),
    ] = None
    second_factor: Annotated[
        bool | None,
        filters.whether(has_factor(user.c.id)),
        Meta(description="Users with a second factor, or only those without."),
    ] = None
    invited: Annotated[
        bool | None,
        filters.whether(_INVITED),
        Meta(description="Invited persons without a password, or all others."),
    ] = None
    email_verified: Annotated[
        bool | None,
        filters.whether(_VERIFIED),
        Meta(description="Users with a confirmed email address, or only those without."),
    ] = None
    role_code: Annotated[
        str | None, filters.ELSEWHERE, Meta(max_length=64, description="Users with the role of that code.")
    ] = None
    role_id: Annotated[int | None, filters.ELSEWHERE, ID] = None
    create_time_from: Annotated[
        datetime | None,
        filters.at_least(user.c.create_time),
        Meta(tz=True, description="Not before this time."),
    ] = None
    create_time_to: Annotated[
        datetime | None, filters.below(user.c.create_time), Meta(tz=True, description="Before this time.")
    ] = None


SORTS: Final = sorts_of(
    user, "id", "user_name", "nick_name", "email", "status", "create_time", "update_time"
) | {"lastLoginTime": func.coalesce(user_login.c.last_login_time, text("'-infinity'::timestamptz"))}
"""The columns by which a list of users can be sorted.

Each column but the last login has an index. An index on the last login would be written with each login, and
all users are sorted in a tenth of a second. Users without a login come before all others.
"""

PLANNING: Final = text(
    "SELECT set_config('plan_cache_mode', 'force_custom_plan', true),"
    " set_config('random_page_cost', '1.1', true)"
)
"""Settings of PostgreSQL's planner for the statements of a list, until the end of the transaction.

A plan for one text, role or status may be bad for another, which nearly all users may have. The default costs
are those of a rotating disk. With them PostgreSQL searches a text that the trigram index cannot find, too
short or too common, in whole rows. It should search the index that holds only the text.
"""

_GIVEN: Final = RowMapper(GivenRole, role)
_USER: Final = RowMapper(
    User,
    user,
    without=["roles", "ban"],
    last_login_time=user_login.c.last_login_time,
    invited=_INVITED,
    email_verified=_VERIFIED,
    email_agreed=_AGREED,
    email_reached=_REACHED,
    directory=_MANAGER,
)
_BANNER: Final = user.alias("banner")
_BAN: Final = RowMapper(BanInForce, user_ban, banned_by=_BANNER.c.user_name)
_LOGGED_IN: Final = user_login.c.user_id == user.c.id
_IDS: Final = bindparam("ids", type_=ARRAY(BigInteger()))


def _with_ban(row: Sequence[Any]) -> User:
    """Return the user of a row of ``_BY_ID``: the id of the ban, its columns, those of the user."""
    banned = row[0]
    ban = row[1 : 1 + len(_BAN.columns)]
    values = row[1 + len(_BAN.columns) :]
    stored = _USER.of_values(values)
    return stored if banned is None else replace(stored, ban=_BAN.of_values(ban))


_BY_ID: Final = PreparedSelect(
    select(user_ban.c.user_id, *_BAN.columns, *_USER.columns)
    .select_from(
        with_bans().outerjoin(_BANNER, _BANNER.c.id == user_ban.c.banned_by).outerjoin(user_login, _LOGGED_IN)
    )
    .where(user.c.id == any_(_IDS)),
    _with_ban,
)
_ROLES_OF: Final = PreparedSelect(
    select(user_role.c.user_id, *_GIVEN.columns)
    .join(role, role.c.id == user_role.c.role_id)
    .where(user_role.c.user_id == any_(_IDS), _NOT_ENDED)
    .distinct()
    .order_by(role.c.id),
    lambda row: (row[0], _GIVEN.of_values(row[1:])),
)


async def page(
    connection: AsyncConnection, criteria: UserFilter, *, page: int = 1, size: int = 20, sort: str = "id"
) -> Page[User]:
    """Return page ``page`` (from 1) of the matching users; ValidationFailed for a sort not in ``SORTS``.

    The number of statements does not depend on the size. Only ids are sorted and skipped, from an index.
    """
    order = order_by(sort, SORTS, user.c.id)
    await connection.execute(PLANNING)
    conditions, in_roles = filters.conditions_of(criteria), await _in_roles(connection, criteria)
    statement = (
        select(user.c.id)
        .select_from(user.outerjoin(user_login, _LOGGED_IN))  # which PostgreSQL leaves out where it can
        .where(*conditions, *(user.c.id.in_(query) for query in in_roles))
    )
    counted = in_roles[0] if in_roles and not conditions and len(in_roles) == 1 else None
    listed = await page_of(connection, statement, page=page, size=size, order=order, counted=counted)
    users = await read_all(connection, [user_id for (user_id,) in listed.items])
    return Page(users, listed.total)


async def read(connection: AsyncConnection, user_id: int) -> User:
    """Return the user with that id; NotFound if unknown."""
    users = await read_all(connection, [user_id])
    if not users:
        raise NotFound(sentence("no_such_user"))
    return users[0]


async def _in_roles(connection: AsyncConnection, criteria: UserFilter) -> list[Select[tuple[int]]]:
    """Return, for each role in the filter, a query for the ids of its users."""
    role_ids = [] if criteria.role_id is None else [criteria.role_id]
    if criteria.role_code is not None:
        # The id is read first: the planner estimates the number of users by it.
        named = await connection.execute(select(role.c.id).where(role.c.role_code == criteria.role_code))
        role_ids.append(named.scalar_one_or_none() or 0)
    assigned = select(user_role.c.user_id).where(_NOT_ENDED).distinct()
    return [assigned.where(user_role.c.role_id == role_id) for role_id in role_ids]


async def read_all(connection: AsyncConnection, user_ids: Sequence[int]) -> tuple[User, ...]:
    """Return the existing users of ``user_ids``, in their order."""
    if not user_ids:
        return ()
    records = await _BY_ID.all(connection, ids=list(user_ids))
    roles: dict[int, list[GivenRole]] = {}
    for user_id, given in await _ROLES_OF.all(connection, ids=list(user_ids)):
        roles.setdefault(user_id, []).append(given)
    users = {record.id: replace(record, roles=tuple(roles.get(record.id, ()))) for record in records}
    return tuple(users[known_id] for known_id in user_ids if known_id in users)


@dataclass(frozen=True, slots=True, kw_only=True)
class CodedUser(UserValues):
    """A user; ``roles`` are the codes of all roles of the user, in the order of the roles' ids."""

    id: int
    roles: tuple[str, ...]


class Directory(Struct, frozen=True):
    """The stored users and roles that a table names: users by the key of their name, role ids by code.

    ``demanding`` are the ids of roles that are assigned with an end or a reason only.
    """

    users: Mapping[str, User]
    roles: Mapping[str, int]
    demanding: Collection[int] = ()


async def directory(
    connection: AsyncConnection, keys: Collection[str], role_codes: Collection[str]
) -> Directory:
    """Return the existing users by the keys of their names, and the existing roles by code."""
    named = select(user.c.id, user.c.user_name_key).where(user.c.user_name_key.in_(keys))
    key_of = {row.id: row.user_name_key for row in await connection.execute(named)}
    users = await read_all(connection, list(key_of))
    named_roles = await role_ids(connection, role_codes)
    by_key = {key_of[record.id]: record for record in users}
    return Directory(by_key, named_roles, await demanding(connection, named_roles.values()))


async def role_ids(connection: AsyncConnection, codes: Collection[str]) -> dict[str, int]:
    """Return the ids of the existing roles, by code."""
    coded = select(role.c.role_code, role.c.id).where(role.c.role_code.in_(codes))
    return {row.role_code: row.id for row in await connection.execute(coded)}


_CODES: Final = (
    select(role.c.role_code)
    .where(
        exists()
        .where(user_role.c.role_id == role.c.id, user_role.c.user_id == user.c.id, _NOT_ENDED)
        .correlate(role, user)
    )
    .order_by(role.c.id)
    .correlate(user)
)
_CODED: Final = RowMapper(CodedUser, user, roles=func.array(_CODES.scalar_subquery()))


async def after(
    connection: AsyncConnection, user_id: int, most: int, criteria: UserFilter | None = None
) -> list[CodedUser]:
    """Return the first ``most`` matching users whose id is greater than ``user_id``, in order."""
    following = _CODED.select.where(user.c.id > user_id)
    if criteria is not None:
        in_roles = [user.c.id.in_(query) for query in await _in_roles(connection, criteria)]
        following = following.where(*filters.conditions_of(criteria), *in_roles)
    return await _CODED.all(connection, following.order_by(user.c.id).limit(most))
