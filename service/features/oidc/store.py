"""SQL of provider sign-ins: links, sign-ins, and the number of links that need the feature."""

from collections.abc import Collection
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa

from service.features.directories import store as directories
from service.features.directories.schema import Directory, SignedIn, directory, directory_session
from service.kernel.fields import values_of
from service.records.database.row_mapper import RowMapper
from service.records.database.transactions import Connection
from service.records.origins import Origin
from service.records.schema.of_users import directory_account

_ORIGIN: Final = RowMapper(Origin, directory_account)


async def of_provider(connection: Connection, name: str) -> Directory | None:
    """Return the mapping of a provider, or None; a provisioning directory is no provider."""
    stored = await directories.named(connection, name)
    return None if stored is None or stored.kind != "oidc" else stored


async def origin(connection: Connection, source: str, issuer: str, subject: str) -> Origin | None:
    """Return the account linked to ``subject`` of a directory, or None."""
    table = directory_account.c
    same = (table.source == source) & (table.issuer == issuer) & (table.subject == subject)
    return await _ORIGIN.only(connection, same)


async def touch(connection: Connection, source: str, issuer: str, subject: str) -> bool:
    """Store the time of a provider sign-in; return False if no account is linked to the subject.

    Locks the link until the transaction ends.
    """
    return await _note(connection, (source, issuer, subject), last_time=sa.func.now())


async def note_groups(
    connection: Connection,
    place: tuple[str, str, str],
    groups: Collection[str],
    since: datetime,
    until: datetime,
) -> None:
    """Store the groups that a provider sends for a user, and the period in which they give roles.

    ``place`` is the source, the issuer and the subject.
    """
    await _note(connection, place, groups=list(groups), groups_time=since, roles_until=until)


async def _note(connection: Connection, place: tuple[str, str, str], **values: Any) -> bool:
    table = directory_account.c
    same = sa.tuple_(table.source, table.issuer, table.subject) == sa.tuple_(*place)
    return (await connection.execute(sa.update(directory_account).where(same).values(**values))).rowcount > 0


async def add(connection: Connection, session: SignedIn, live: str, until: datetime) -> None:
    """Store a sign-in that may open a session.

    Deletes earlier sign-ins on the device from before ``until``, which can no longer open a session; keeps
    the sign-in of the ``live`` session.
    """
    await connection.execute(sa.insert(directory_session).values(values_of(session)))
    table = directory_session.c
    over = (table.sign_in != live) & (table.opened_time < until)
    of_device = (table.user_id == session.user_id) & (table.device == session.device)
    await connection.execute(sa.delete(directory_session).where(of_device, over))


async def in_need(connection: Connection) -> tuple[int, str]:
    """Return the number of links of enabled providers to accounts, and why it matters.

    Providers missing in the settings count too: sessions that they opened still exist.
    """
    link, kept = directory_account.c, directory.c
    cut_off = sa.exists().where(kept.name == link.source, kept.kind == "oidc", ~kept.enabled)
    # The id of a provisioning client has no issuer.
    statement = sa.select(sa.func.count()).select_from(directory_account).where(link.issuer != "", ~cut_off)
    count: int = (await connection.execute(statement)).scalar_one()
    return count, (
        "accounts are linked to providers. Logouts at providers would no longer end sessions, and users "
        "without password and passkey could not log in: invite these users, and run portcullis directory "
        "cut-off NAME for each provider, which ends its sessions"
    )
