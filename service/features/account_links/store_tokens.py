"""``sys.account_token``: mailed links, each for one operation; and requests for links.

A link expires with time, with its use, or with a new link of the same purpose. A link is also invalid after a
change of its conditions: the invited user has a password, the password has changed, the address has changed,
or a directory manages an account that would get a password.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Literal, TypeAlias

from sqlalchemy import (
    ColumnElement,
    Interval,
    and_,
    bindparam,
    delete,
    exists,
    func,
    or_,
    select,
    text,
    update,
)
from sqlalchemy.dialects.postgresql import insert as upsert

from service.features.account_links.schema import account_token, address_undo, reset_request
from service.records.database.portions import delete_some
from service.records.database.row_mapper import RowMapper
from service.records.database.transactions import Connection
from service.records.schema.of_users import directory_account
from service.records.schema.rights import user

Purpose: TypeAlias = Literal["invitation", "password_reset", "address", "end_sessions"]
"""Purpose of a link: first password, forgotten password, confirmed address, end of all sessions."""
MOST_WRONG: Final = 5
"""Maximum number of second factors tried with a link."""


@dataclass(frozen=True, slots=True)
class AccountToken:
    """A valid link: its owner, and the address to which it was mailed, or None."""

    user_id: int
    user_name: str
    email: str | None


@dataclass(frozen=True, slots=True)
class ResetRequest:
    """A request for a password link, with any user name."""

    user_name_key: str
    client_ip: str
    create_time: datetime


_TOKEN: Final = RowMapper(AccountToken, account_token, user_name=user.c.user_name)
_REQUEST: Final = RowMapper(ResetRequest, reset_request)
_UNMANAGED: Final = ~exists().where(directory_account.c.user_id == user.c.id, directory_account.c.managed)
"""The condition that no directory manages the account; managed accounts have no local password."""
_OF: Final[dict[Purpose, ColumnElement[bool]]] = {
    "invitation": and_(
        _UNMANAGED,
        user.c.kind == "person",
        user.c.password_hash.is_(None),
        func.coalesce(account_token.c.email == user.c.email, account_token.c.email.is_(None)),
    ),
    "password_reset": and_(
        _UNMANAGED,
        user.c.password_hash.is_not(None),
        user.c.email.is_not(None),
        user.c.recovery_email == account_token.c.email,
        or_(user.c.password_time.is_(None), user.c.password_time <= account_token.c.create_time),
    ),
    "address": user.c.email == account_token.c.email,
    "end_sessions": user.c.id == account_token.c.user_id,
}


async def put(
    connection: Connection,
    purpose: Purpose,
    user_id: int,
    digest: bytes,
    *,
    email: str | None,
    seconds: int,
    created_by: int | None = None,
) -> datetime:
    """Write a token that expires after ``seconds``, and return its expiry; the former token is replaced."""
    lasts = bindparam("lasts", timedelta(seconds=seconds), Interval())
    row = upsert(account_token).values(
        digest=digest,
        purpose=purpose,
        user_id=user_id,
        email=email,
        expires_time=func.date_trunc("milliseconds", func.now() + lasts),
        created_by=created_by,
    )
    if purpose != "end_sessions":
        names = ("digest", "email", "expires_time", "created_by")
        values = {name: row.excluded[name] for name in names} | {"wrong": 0, "create_time": func.now()}
        row = row.on_conflict_do_update(
            index_elements=[account_token.c.user_id, account_token.c.purpose],
            index_where=text("purpose <> 'end_sessions'"),  # PostgreSQL finds no index by a parameter
            set_=values,
        )
    ends: datetime = (await connection.execute(row.returning(account_token.c.expires_time))).scalar_one()
    return ends


async def find(connection: Connection, purpose: Purpose, digest: bytes) -> AccountToken | None:
    """Return the token if it is valid and more second factors may be tried; otherwise None."""
    known = select(*_TOKEN.columns).join(user, user.c.id == account_token.c.user_id)
    left = account_token.c.wrong < MOST_WRONG
    return await _TOKEN.one_or_none(connection, known.where(_good(purpose, digest), left))


async def spend(connection: Connection, purpose: Purpose, digest: bytes) -> AccountToken | None:
    """Delete and return a valid token; None otherwise. Only one of several concurrent requests gets it."""
    gone = delete(account_token).where(user.c.id == account_token.c.user_id, _good(purpose, digest))
    return await _TOKEN.one_or_none(connection, gone.returning(*_TOKEN.columns))


async def tried(connection: Connection, digest: bytes) -> bool:
    """Count an attempt at a second factor before its check; return false if the limit is reached."""
    counted = update(account_token).where(
        account_token.c.digest == digest, account_token.c.wrong < MOST_WRONG
    )
    return (await connection.execute(counted.values(wrong=account_token.c.wrong + 1))).rowcount == 1


async def made_within(connection: Connection, purpose: Purpose, user_id: int, ago: timedelta) -> bool:
    """Return true if the latest token of a user was created less than ``ago`` before now."""
    since = func.now() - bindparam("ago", ago, Interval())
    latest = select(account_token.c.digest).where(
        account_token.c.user_id == user_id,
        account_token.c.purpose == purpose,
        account_token.c.create_time > since,
    )
    return (await connection.execute(latest)).first() is not None


async def forget_expired(connection: Connection, most: int) -> int:
    """Delete at most ``most`` expired tokens; return their number."""
    return await delete_some(connection, account_token, account_token.c.expires_time < func.now(), most)


async def forget_all(connection: Connection) -> None:
    """Delete all tokens and requests: after a restore, used tokens could be back."""
    await connection.execute(delete(account_token))
    await connection.execute(delete(address_undo))
    await connection.execute(delete(reset_request))


async def ask(connection: Connection, user_name_key: str, client_ip: str) -> None:
    """Store a request for a link, once per name until a job has processed it."""
    row = upsert(reset_request).values(user_name_key=user_name_key, client_ip=client_ip)
    await connection.execute(row.on_conflict_do_nothing())


async def is_asked(connection: Connection) -> bool:
    """Return true if a request waits for the job."""
    return (await connection.execute(select(reset_request.c.user_name_key).limit(1))).first() is not None


async def take_requests(connection: Connection, most: int) -> Sequence[ResetRequest]:
    """Delete and return at most ``most`` requests, except those locked by another transaction."""
    chosen = select(reset_request.c.user_name_key).limit(most).with_for_update(skip_locked=True)
    gone = delete(reset_request).where(reset_request.c.user_name_key.in_(chosen))
    return await _REQUEST.all(connection, gone.returning(*_REQUEST.columns))


def _good(purpose: Purpose, digest: bytes) -> ColumnElement[bool]:
    return and_(
        account_token.c.digest == digest,
        account_token.c.purpose == purpose,
        account_token.c.expires_time > func.clock_timestamp(),
        _OF[purpose],
    )
