"""Read dormant accounts."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Final

import sqlalchemy as sa

from service.features.permission_use import store as permission_uses
from service.kernel.clock import now
from service.records.database.transactions import Connection
from service.records.role_holdings import ACTIVE
from service.records.schema.of_users import directory_account, notice
from service.records.schema.rights import api_key, user, user_login

KIND: Final = "account_dormant"
"""The kind of notice for dormant accounts."""


@dataclass(frozen=True, slots=True)
class Quiet:
    """An unused account, and the time of its owner's notice; None without a notice."""

    user_id: int
    user_name: str
    told_time: datetime | None


async def quiet(connection: Connection, days: int, user_id: int | None = None) -> list[Quiet]:
    """Return active accounts that were not used for ``days``, by id; with ``user_id`` that account alone.

    Creation and edits count as use, so that an account that was enabled again is not disabled the next day.
    The result is empty while uses have been recorded for less than ``days``. Notices older than ``days`` do
    not count. Accounts managed by a directory are excluded: the directory disables them.
    """
    since = _first_day(days)
    recorded = await permission_uses.recorded_since(connection)
    beginning = datetime.combine(since, time(), UTC)
    if recorded is None or recorded >= beginning:
        return []
    used = permission_uses.uses(since).subquery("used")
    keys = sa.exists().where(api_key.c.user_id == user.c.id, api_key.c.last_use_time >= beginning)
    logins = sa.exists().where(user_login.c.user_id == user.c.id, user_login.c.last_login_time >= beginning)
    known = sa.select(sa.func.min(notice.c.create_time)).where(
        notice.c.user_id == user.c.id, notice.c.kind == KIND, notice.c.create_time >= beginning
    )
    managed = sa.exists().where(directory_account.c.user_id == user.c.id, directory_account.c.managed)
    conditions = [
        ACTIVE,
        ~managed,
        sa.func.greatest(user.c.create_time, user.c.update_time) < beginning,
        ~keys,
        ~logins,
        user.c.id.not_in(sa.select(used.c.user_id)),
    ]
    if user_id is not None:
        conditions.append(user.c.id == user_id)
    statement = sa.select(user.c.id, user.c.user_name, known.scalar_subquery()).where(*conditions)
    return [Quiet(*row) for row in await connection.execute(statement.order_by(user.c.id))]


def _first_day(days: int) -> date:
    return now().date() - timedelta(days=days)
