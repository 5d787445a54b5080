"""``sys.user``: credentials, a user's own account, and changes of users and of the roles given to them.

Callers that change users hold ``role_rights.lock``, so that their checks stay valid until the
commit.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct
from sqlalchemy import BigInteger, ColumnElement, bindparam, case, cast, extract, func, insert, select
from sqlalchemy import delete as delete_from
from sqlalchemy import update as change
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from service.errors import Conflict
from service.kernel.core_sentences import sentence
from service.kernel.identity import Kind, NewAccount, Target
from service.kernel.text import name_key
from service.records import assignments, bans, factors, role_rights
from service.records.assignments import AT
from service.records.database.filters import among
from service.records.database.portions import write_in_portions
from service.records.database.row_mapper import PreparedSelect, RowMapper, RowWriter, Source
from service.records.schema.rights import (
    api_key,
    permission_use,
    role,
    user,
    user_ban,
    user_login,
    user_role,
)
from service.records.user_list import Status, UserNames, UserValues

Initial: TypeAlias = Literal["given", "leaked"]
"""Reason for which the owner must change the password first: another user set it, or it is leaked."""
GIVEN: Final[Initial] = "given"
LEAKED: Final[Initial] = "leaked"


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing(UserNames):
    """Identity and denial of an account; ``banned_until`` is None for a ban without end."""

    user_id: int
    kind: Kind
    service: str | None
    status: Status
    banned: bool
    banned_until: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials(Standing):
    """The facts about a person that a login needs; a service account has no credentials.

    ``password_hash`` is None for an invited person without a password yet. ``password_initial`` is None for a
    password that its owner need not change. ``password_age`` is the time since the password was set, in whole
    seconds.
    """

    password_hash: str | None = field(repr=False)
    second_factor: bool
    password_initial: Initial | None
    password_age: int


class Recoverable(Struct, frozen=True, kw_only=True):
    """A person who can set a forgotten password by a link to ``email``, their confirmed address."""

    user_id: int
    user_name: str
    email: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Entitled(Standing):
    """The facts about a person that tokens need: the standing, and the rights of ``role_rights.of``.

    ``bits`` are the bit positions of ``permissions``, in their order. ``changes_at`` is that of
    ``role_rights.Rights``, and ``password_initial`` that of ``Credentials``.
    """

    roles: tuple[str, ...]
    permissions: tuple[str, ...]
    bits: tuple[int, ...]
    changes_at: datetime | None
    password_initial: Initial | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Entrant(Credentials):
    """A user about to get a session: the current credentials, and the rights that tokens need.

    Both are read at once, so that they are of one instant; the fields are those of ``Entitled``.
    """

    roles: tuple[str, ...]
    permissions: tuple[str, ...]
    bits: tuple[int, ...]
    changes_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Info(UserNames):
    """A user's own account, with the rights that ``role_rights.of`` returns."""

    user_id: int
    email: str | None
    avatar: str | None
    language: str | None
    time_zone: str | None
    roles: tuple[str, ...]
    permissions: tuple[str, ...]


_is_banned: Final = user_ban.c.user_id.is_not(None)
_STANDING: Final = RowMapper(
    Standing, user, user_id=user.c.id, banned=_is_banned, banned_until=user_ban.c.until
)
_password_age: Final = extract("epoch", func.now() - func.coalesce(user.c.password_time, user.c.create_time))
_CREDENTIALS: Final = RowMapper(
    Credentials,
    user,
    user_id=user.c.id,
    banned=_is_banned,
    banned_until=user_ban.c.until,
    second_factor=factors.has_factor(user.c.id),
    password_age=cast(_password_age, BigInteger),
)
_RECOVERABLE: Final = RowMapper(Recoverable, user, user_id=user.c.id, email=user.c.recovery_email)
_roles, _permissions, _bits = role_rights.columns_of(bindparam("user_id", type_=BigInteger()))
_changes_at: Final = assignments.changes_at(bindparam("user_id", type_=BigInteger()), AT)
_ENTITLED: Final = RowMapper(
    Entitled,
    user,
    user_id=user.c.id,
    banned=_is_banned,
    banned_until=user_ban.c.until,
    roles=_roles,
    permissions=_permissions,
    bits=_bits,
    changes_at=_changes_at,
)
_ENTRANT: Final = RowMapper(
    Entrant,
    user,
    user_id=user.c.id,
    banned=_is_banned,
    banned_until=user_ban.c.until,
    second_factor=factors.has_factor(user.c.id),
    password_age=cast(_password_age, BigInteger),
    roles=_roles,
    permissions=_permissions,
    bits=_bits,
    changes_at=_changes_at,
)
_NAMED: Final = user.c.user_name_key == bindparam("name_key")
_NUMBERED: Final = user.c.id == bindparam("user_id", type_=BigInteger())
_ACCOUNTS: Final = _STANDING.select.select_from(bans.with_bans())
_STANDING_BY_NAME: Final = _ACCOUNTS.where(_NAMED)
_STANDING_BY_ID: Final = _ACCOUNTS.where(_NUMBERED)
_is_person: Final = user.c.kind == "person"
_PERSONS: Final = _CREDENTIALS.select.select_from(bans.with_bans()).where(_is_person)
_BY_NAME: Final = PreparedSelect(_PERSONS.where(_NAMED), _CREDENTIALS.of_values)
_BY_ID: Final = PreparedSelect(_PERSONS.where(_NUMBERED), _CREDENTIALS.of_values)
_ENTITLED_BY_ID: Final = PreparedSelect(
    _ENTITLED.select.select_from(bans.with_bans()).where(_is_person, _NUMBERED),
    _ENTITLED.of_values,
)
_ENTRANT_BY_ID: Final = PreparedSelect(
    _ENTRANT.select.select_from(bans.with_bans()).where(_is_person, _NUMBERED, _NAMED),
    _ENTRANT.of_values,
)
_VALUES: Final = RowMapper(UserValues, user)
_VALUES_BY_ID: Final = _VALUES.select.where(_NUMBERED)
_INFO: Final = RowMapper(Info, user, user_id=user.c.id, roles=_roles, permissions=_permissions)
_INFO_BY_ID: Final = _INFO.select.where(_NUMBERED)


async def standing(connection: AsyncConnection, user_name: str) -> Standing | None:
    """Return the standing of the user with that name, compared by ``name_key``, or None."""
    return await _STANDING.one_or_none(connection, _STANDING_BY_NAME, {"name_key": name_key(user_name)})


async def standing_of(connection: AsyncConnection, user_id: int) -> Standing | None:
    """Return the standing of the user with that id, or None."""
    return await _STANDING.one_or_none(connection, _STANDING_BY_ID, {"user_id": user_id})


async def credentials(source: Source, user_name: str) -> Credentials | None:
    """Return the credentials of the person with that name, compared by ``name_key``, or None."""
    return await _BY_NAME.one_or_none(source, name_key=name_key(user_name))


async def credentials_of(source: Source, user_id: int) -> Credentials | None:
    """Return the credentials of the person with that id, or None."""
    return await _BY_ID.one_or_none(source, user_id=user_id)


async def entitled(source: Source, user_id: int, at: datetime | None = None) -> Entitled | None:
    """Return the standing and the rights of the person with that id at the instant ``at``, or None."""
    return await _ENTITLED_BY_ID.one_or_none(source, user_id=user_id, at=at)


async def entrant(source: Source, user_id: int, user_name: str, at: datetime) -> Entrant | None:
    """Return the person with that id, if they still have that name, as they may get a session at ``at``."""
    return await _ENTRANT_BY_ID.one_or_none(source, user_id=user_id, name_key=name_key(user_name), at=at)


async def recoverable(connection: AsyncConnection, key: str) -> Recoverable | None:
    """Return the user with this name key who can recover the password by a link; None for all others."""
    can = (
        (user.c.user_name_key == key)
        & (user.c.status == "enabled")
        & user.c.password_hash.is_not(None)
        & user.c.email.is_not(None)
        & user.c.recovery_email.is_not(None)
        & user_ban.c.user_id.is_(None)
    )
    statement = _RECOVERABLE.select.select_from(bans.with_bans()).where(can)
    return await _RECOVERABLE.one_or_none(connection, statement)


async def renew_password(
    connection: AsyncConnection,
    user_id: int,
    password_hash: str,
    *,
    expected_hash: str | None,
    initial: Initial | None,
) -> bool:
    """Replace the stored hash and the mark if the hash is still ``expected_hash``; returns whether it was.

    For a hash of the same password with newer parameters, and for one that is found in a leak: a password
    that was changed meanwhile stays, and the record's version does not rise.
    """
    statement = (
        change(user)
        .where(user.c.id == user_id, user.c.password_hash == expected_hash)
        .values(password_hash=password_hash, password_initial=initial, updated_by=user.c.updated_by)
    )
    return (await connection.execute(statement)).rowcount == 1


async def change_password(
    connection: AsyncConnection,
    user_id: int,
    password_hash: str,
    *,
    expected_hash: str | None,
    initial: Initial | None,
) -> bool:
    """Store the hash of a new password if ``expected_hash`` is still stored; return whether it was.

    ``initial`` is None if the owner set the password.
    """
    statement = (
        change(user)
        .where(user.c.id == user_id, user.c.password_hash == expected_hash)
        .values(
            password_hash=password_hash,
            password_time=func.now(),
            password_initial=initial,
            version=user.c.version + 1,
            update_time=func.now(),
        )
    )
    return (await connection.execute(statement)).rowcount == 1


async def confirm_address(connection: AsyncConnection, user_id: int, email: str) -> bool:
    """Make ``email`` the address for recovery, if it is still the user's; returns whether it is."""
    return await _address_noted(connection, user_id, email, recovery_email=email)


async def reach_address(connection: AsyncConnection, user_id: int, email: str) -> bool:
    """Record that a link at ``email`` was opened, if the user still has this address; return whether so.

    It becomes the address for recovery if the owner has agreed to it.
    """
    return await _address_noted(
        connection, user_id, email, reached_email=email, recovery_email=_if_also(user.c.agreed_email, email)
    )


async def agree_to_address(connection: AsyncConnection, user_id: int, email: str) -> bool:
    """Record that the owner agrees to ``email``, if the user still has this address; return whether so.

    It becomes the address for recovery if a link there has been opened.
    """
    return await _address_noted(
        connection, user_id, email, agreed_email=email, recovery_email=_if_also(user.c.reached_email, email)
    )


async def bring_back_address(
    connection: AsyncConnection, user_id: int, email: str, *, recovery_only: bool
) -> None:
    """Make ``email`` the address of a user again, and that for recovery; or only the latter."""
    values = {"recovery_email": email, "agreed_email": email, "reached_email": email}
    if not recovery_only:
        values["email"] = email
    raised = {"version": user.c.version + 1, "update_time": func.now()}
    await connection.execute(change(user).where(user.c.id == user_id).values(**values, **raised))


def _if_also(column: ColumnElement[str | None], email: str) -> ColumnElement[str | None]:
    return case((column == email, email), else_=user.c.recovery_email)


async def _address_noted(connection: AsyncConnection, user_id: int, email: str, **values: Any) -> bool:
    statement = (
        change(user)
        .where(user.c.id == user_id, user.c.email == email)
        .values(**values, version=user.c.version + 1, update_time=func.now())
    )
    return (await connection.execute(statement)).rowcount == 1


async def set_status(connection: AsyncConnection, user_id: int, status: Status) -> bool:
    """Enable or disable a user; return False if the user does not exist, or has that status."""
    statement = (
        change(user)
        .where(user.c.id == user_id, user.c.status != status)
        .values(status=status, version=user.c.version + 1, update_time=func.now())
    )
    return (await connection.execute(statement)).rowcount == 1


async def values(connection: AsyncConnection, user_id: int) -> UserValues | None:
    """Return the stored values of a user, or None."""
    return await _VALUES.one_or_none(connection, _VALUES_BY_ID, {"user_id": user_id})


async def info(connection: AsyncConnection, user_id: int, at: datetime | None = None) -> Info | None:
    """Return the account of a user with the rights at the instant ``at``, or None."""
    return await _INFO.one_or_none(connection, _INFO_BY_ID, {"user_id": user_id, "at": at})


async def choices(connection: AsyncConnection, user_id: int) -> tuple[str | None, str | None]:
    """Return the language and the time zone that a user has chosen; None for no choice."""
    statement = select(user.c.language, user.c.time_zone).where(user.c.id == user_id)
    row = (await connection.execute(statement)).one_or_none()
    return (None, None) if row is None else (row.language, row.time_zone)


TAKEN = sentence("user_name_taken")

WRITER: Final = RowWriter(UserValues, user)
"""Writes users."""


@dataclass(frozen=True, slots=True)
class NewRow:
    """A user to be written: the account, and the ids of existing roles.

    ``password_hash`` is None for a service account, and for an invited person. The password of a new user is
    initial.
    """

    account: NewAccount
    password_hash: str | None = field(repr=False)
    role_ids: Sequence[int] = ()


async def create(
    connection: AsyncConnection,
    password_hash: str | None,
    account: NewAccount,
    role_ids: Sequence[int] = (),
) -> int:
    """Write one new user and return the id; the arguments are as in ``NewRow``.

    Conflict if the name is taken, compared by ``name_key``; the transaction can continue then.
    """
    written = await create_all(connection, [NewRow(account, password_hash, role_ids)])
    if not written:
        raise Conflict(TAKEN, rule="unique", field="userName")
    return written[name_key(account.values["user_name"])]


_PORTION: Final = 25
_NEW_USERS: Final = (
    upsert(user)
    .on_conflict_do_nothing(index_elements=[user.c.user_name_key])
    .returning(user.c.user_name_key, user.c.id)
)


async def create_all(connection: AsyncConnection, rows: Iterable[NewRow]) -> dict[str, int]:
    """Write new users with their roles; return the ids of the users written, by the key of their name.

    Users whose name is taken are left out. They are written in portions: one by one they would block all
    other changes for seconds.
    """
    by_key = {name_key(row.account.values["user_name"]): row for row in rows}
    if not by_key:
        return {}
    written = await write_in_portions(connection, _NEW_USERS, map(_new_user, by_key.values()), _PORTION)
    ids: dict[str, int] = {row.user_name_key: row.id for row in written}
    given = [{"user_id": ids[key], "role_id": role_id} for key in ids for role_id in by_key[key].role_ids]
    await write_in_portions(connection, insert(user_role), given, _PORTION)
    return ids


def _new_user(row: NewRow) -> dict[str, Any]:
    return WRITER.new(
        UserValues(**row.account.values),
        made_by=row.account.made_by,
        password_hash=row.password_hash,
        password_initial=None if row.password_hash is None else GIVEN,
    )


async def update(
    connection: AsyncConnection, target: Target, values: Mapping[str, Any], *, agreed: bool = False
) -> None:
    """Store ``values``, by column, of an existing user, and raise the version even if there are none.

    ``agreed``: the owner agrees to the new address.
    Conflict if the name belongs to another user; the transaction can continue then.
    """
    # A removed address is no longer an address for recovery.
    gone = {"recovery_email": None} if values.get("email", "") is None else {}
    if agreed:
        gone["agreed_email"] = values["email"]
    try:
        async with connection.begin_nested():
            written = change(user).where(user.c.id == target.user_id)
            await connection.execute(written.values(WRITER.edited(values) | gone))
    except IntegrityError as error:
        if getattr(getattr(error.orig, "diag", None), "constraint_name", "") != "user_user_name_key_key":
            raise
        raise Conflict(TAKEN, rule="unique", field="userName") from None


async def raise_versions(connection: AsyncConnection, user_ids: Collection[int]) -> None:
    """Raise the versions of users whose roles have changed."""
    if user_ids:
        await connection.execute(change(user).where(among(user.c.id, user_ids)).values(WRITER.edited({})))


async def names(connection: AsyncConnection, user_ids: Collection[int]) -> dict[int, str]:
    """Return the names of users, by id; unknown ids are left out."""
    if not user_ids:
        return {}
    named = select(user.c.id, user.c.user_name).where(among(user.c.id, user_ids))
    return {row.id: row.user_name for row in await connection.execute(named)}


async def maker(connection: AsyncConnection, user_id: int) -> int | None:
    """Return the id of the creator of an account; None for the operator, and for an unknown creator."""
    made_by = select(user.c.made_by).where(user.c.id == user_id)
    return (await connection.execute(made_by)).scalar_one_or_none()


async def has_keys(connection: AsyncConnection, user_id: int) -> bool:
    """Return True if the account is a person's that has API keys."""
    of_person = select(api_key.c.id).join(user, user.c.id == api_key.c.user_id)
    keys = of_person.where(api_key.c.user_id == user_id, user.c.kind == "person").limit(1)
    return (await connection.execute(keys)).first() is not None


async def maker_of_key(connection: AsyncConnection, key_id: int) -> int | None:
    """Return the id of the creator of an API key; None for an unknown key."""
    made_by = select(api_key.c.created_by).where(api_key.c.id == key_id)
    return (await connection.execute(made_by)).scalar_one_or_none()


async def delete(connection: AsyncConnection, target: Target) -> None:
    """Delete a user; the user's files stay without an owner, and log entries stay.

    The user's control of other accounts passes on: accounts behind the user stand behind these accounts.
    """
    await connection.execute(delete_from(user).where(user.c.id == target.user_id))
    for kept in (user_login, permission_use):
        await connection.execute(delete_from(kept).where(kept.c.user_id == target.user_id))


async def unknown_roles(connection: AsyncConnection, role_ids: Iterable[int]) -> set[int]:
    """Return the ids in ``role_ids`` without a role."""
    asked = set(role_ids)
    return asked - set((await connection.execute(select(role.c.id).where(role.c.id.in_(asked)))).scalars())
