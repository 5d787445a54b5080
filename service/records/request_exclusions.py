"""``sys.access_request_exclusion``: who does not approve a request, since its author stands behind them.

Callers hold ``role_rights.lock``, so that no request is made and no right changes meanwhile.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal, TypeAlias

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import array
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.ext.asyncio import AsyncConnection

from service.records.access_requests import IS_OPEN
from service.records.database.row_mapper import RowMapper
from service.records.schema.base import SCHEMA
from service.records.schema.of_users import account_token
from service.records.schema.requests import access_request, access_request_exclusion
from service.records.schema.reviews import review, review_takeover
from service.records.schema.rights import api_key, menu, role, role_menu, user, user_role

Why: TypeAlias = Literal["account", "codes", "credentials"]
"""What the author of a request made or gave: the account, codes by which it decides, or a way to log in."""


@dataclass(frozen=True, slots=True)
class PendingStages:
    """A request: the role, the codes of its stages, and whether approvers must be able to grant its codes."""

    id: int
    role_id: int
    stage_codes: tuple[str, ...]
    grant_needed: bool


@dataclass(frozen=True, slots=True)
class Ground:
    """Why a user can hold ``code``: an assignment with its window, and a Button; all enabled, or not yet."""

    user_id: int
    assignment_id: int
    button_id: int
    code: str
    valid_from: datetime | None
    valid_until: datetime | None
    enabled: tuple[bool, ...]

    @property
    def key(self) -> tuple[int, int, str]:
        """What stays the same while a window or a state changes."""
        return self.assignment_id, self.button_id, self.code

    def is_within(self, other: "Ground") -> bool:
        """True if it gives nothing that ``other``, with the same key, did not give."""
        begins = other.valid_from is None or (
            self.valid_from is not None and self.valid_from >= other.valid_from
        )
        ends = other.valid_until is None or (
            self.valid_until is not None and self.valid_until <= other.valid_until
        )
        return begins and ends and all(map(bool.__le__, self.enabled, other.enabled))


# A literal: the partial index is of no use to a prepared statement with a parameter.
_IS_PENDING: Final = access_request.c.state == sa.literal_column("'pending'")
_USER: Final = sa.bindparam("user_id", type_=sa.BigInteger())
_PENDING: Final = RowMapper(PendingStages, access_request)
_GROUND: Final = RowMapper(
    Ground,
    user_role,
    assignment_id=user_role.c.id,
    button_id=menu.c.id,
    code=menu.c.auth_mark,
    enabled=array([role.c.enabled, menu.c.enabled, user.c.status == "enabled"]),
)
_ITS_CIRCLE: Final = sa.union_all(
    sa.select(access_request.c.id).where(access_request.c.user_id == _USER, _IS_PENDING),
    sa.select(access_request.c.id).where(access_request.c.user_id == _USER, access_request.c.emergency),
    sa.select(access_request_exclusion.c.request_id).where(access_request_exclusion.c.user_id == _USER),
)
_PENDING_OF_CIRCLE: Final = (
    sa.select(*_PENDING.columns)
    .where(_IS_PENDING | IS_OPEN, access_request.c.id.in_(_ITS_CIRCLE))
    .order_by(access_request.c.id)
)


async def pending_of_circle(connection: AsyncConnection, user_id: int) -> list[PendingStages]:
    """Return the requests whose author is the user, or stands behind the user, by id.

    Pending ones, and emergencies that nobody has closed.
    """
    rows = await connection.execute(_PENDING_OF_CIRCLE, {"user_id": user_id})
    return [_PENDING.of(row) for row in rows]


async def exclude(
    connection: AsyncConnection, request_ids: Collection[int], user_ids: Collection[int], why: Why
) -> None:
    """Exclude the users from the requests; the author of a request and who is excluded already stay so."""
    if not request_ids or not user_ids:
        return
    given = sa.func.unnest(sa.literal(sorted(user_ids), sa.ARRAY(sa.BigInteger))).column_valued("excluded_id")
    rows = sa.select(access_request.c.id, given, sa.literal(why)).where(
        access_request.c.id.in_(sorted(request_ids)), access_request.c.user_id != given
    )
    written = upsert(access_request_exclusion).from_select(["request_id", "user_id", "why"], rows)
    await connection.execute(written.on_conflict_do_nothing())


async def made_by_circle(connection: AsyncConnection, author_id: int) -> list[int]:
    """Return the accounts that the user has made, that those have made, and so on; by id."""
    made = sa.select(user.c.id).where(user.c.made_by == author_id).cte("made", recursive=True)
    made = made.union(sa.select(user.c.id).join(made, user.c.made_by == made.c.id))
    return list((await connection.execute(sa.select(made.c.id).order_by(made.c.id))).scalars())


async def owners_of_keys(connection: AsyncConnection, user_ids: Collection[int]) -> list[int]:
    """Return the ids of the accounts for which one of these users has made an API key."""
    keys = sa.select(api_key.c.user_id).where(api_key.c.created_by.in_(list(user_ids)))
    return list((await connection.execute(keys.distinct())).scalars())


_BEHIND: Final = sa.text(f"""
    WITH RECURSIVE behind (user_id, by_id) AS (
        SELECT given, given FROM unnest(CAST(:ids AS bigint[])) AS given
        UNION
        SELECT behind.user_id, edge.by_id FROM behind JOIN (
            SELECT id, made_by AS by_id FROM {SCHEMA}."user" WHERE made_by IS NOT NULL
            UNION ALL
            SELECT user_id, created_by FROM {SCHEMA}.account_token
            WHERE created_by <> user_id AND expires_time > now()
            UNION ALL
            -- A link does not say by which key its maker, or who had that key, has had it made.
            SELECT token.user_id, key.user_id FROM {SCHEMA}.account_token AS token
            JOIN {SCHEMA}.api_key AS key ON key.created_by = token.created_by WHERE token.expires_time > now()
            UNION ALL
            SELECT user_id, by_id FROM {SCHEMA}.review_takeover WHERE review_id = CAST(:review_id AS bigint)
        ) AS edge ON edge.id = behind.by_id
    )
    SELECT user_id, array_agg(by_id) AS by_ids FROM behind GROUP BY user_id
    """)  # noqa: S608 - our own name


async def behind(
    connection: AsyncConnection, user_ids: Collection[int], review_id: int | None = None
) -> dict[int, set[int]]:
    """Return, by the ids of users, who can act as them: themselves, who has made the account, or has a link.

    And the accounts whose API keys who made the link has made; who has taken it over while a review was open;
    and who is behind those.
    """
    given = {"ids": list(user_ids), "review_id": review_id}
    rows = await connection.execute(_BEHIND, given)
    return {row.user_id: {*row.by_ids} for row in rows}


async def take_over(connection: AsyncConnection, user_id: int, by_id: int) -> None:
    """Note, for the open reviews, that a user can get to act as another one."""
    open_ones = sa.select(review.c.id, sa.literal(user_id), sa.literal(by_id)).where(review.c.state == "open")
    written = upsert(review_takeover).from_select(["review_id", "user_id", "by_id"], open_ones)
    await connection.execute(written.on_conflict_do_nothing())


async def owners_of_links(connection: AsyncConnection, user_ids: Collection[int]) -> list[int]:
    """Return the ids of the users with a link, not expired, that one of these other users had made."""
    table = account_token.c
    made = table.created_by.in_(list(user_ids)) & (table.created_by != table.user_id)
    live = sa.select(table.user_id).where(made, table.expires_time > sa.func.now()).distinct()
    return list((await connection.execute(live)).scalars())


async def of_request(connection: AsyncConnection, request_id: int) -> dict[int, Why]:
    """Return who is excluded from a request, and why."""
    table = access_request_exclusion.c
    rows = await connection.execute(
        sa.select(table.user_id, table.why).where(table.request_id == request_id).order_by(table.user_id)
    )
    return {row.user_id: row.why for row in rows}


async def codes_like(connection: AsyncConnection, codes: Collection[str]) -> list[str]:
    """Return the codes of Buttons, enabled or not, that are among ``codes`` or have a wildcard."""
    among = menu.c.auth_mark == sa.any_(sa.literal(list(codes), sa.ARRAY(sa.Text)))
    statement = sa.select(menu.c.auth_mark).where(
        menu.c.menu_type == "Button", among | menu.c.auth_mark.contains("*")
    )
    return list((await connection.execute(statement.distinct())).scalars())


async def grounds(connection: AsyncConnection, codes: Collection[str]) -> list[Ground]:
    """Return why users can hold any of ``codes``, text for text: now, later, or once all is enabled."""
    statement = (
        sa.select(*_GROUND.columns)
        .join_from(user_role, user, user.c.id == user_role.c.user_id)
        .join(role, role.c.id == user_role.c.role_id)
        .join(role_menu, role_menu.c.role_id == role.c.id)
        .join(menu, menu.c.id == role_menu.c.menu_id)
        .where(menu.c.menu_type == "Button")
        .where(menu.c.auth_mark == sa.any_(sa.literal(list(codes), sa.ARRAY(sa.Text))))
    )
    return await _GROUND.all(connection, statement)
