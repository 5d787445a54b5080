"""Assignments, role codes and API keys unused since a day: ``sys.permission_use`` by roles.

Anything created after that day is excluded.
"""

from collections.abc import Collection, Mapping
from datetime import UTC, date, datetime, time
from typing import Any, Final

import msgspec
import sqlalchemy as sa
from msgspec import Struct

from service.features.assignments import store as assignment_list
from service.features.assignments.store import Assignment
from service.features.permission_use import store as permission_uses
from service.kernel.cooperative_yield import CooperativeYield
from service.kernel.value_rules import Code, Id, RoleCode
from service.records.assignments import in_force, instant
from service.records.database.filters import among, array_of_ids, array_of_texts
from service.records.database.paging import Page, page_of
from service.records.database.portions import each_row
from service.records.database.row_mapper import RowMapper
from service.records.database.transactions import Connection
from service.records.schema.installation import restore_epoch
from service.records.schema.rights import (
    api_key,
    ended_assignment,
    menu,
    permission_use,
    role,
    role_code_life,
    user,
    user_role,
)

NO_WORD: Final = "^[^@]"
"""Codes match it, the words of lines don't."""


class GivenCode(Struct, frozen=True):
    """A code that a role gives since ``begin_time``."""

    role_id: Id
    role_code: RoleCode
    code: Code
    begin_time: datetime


class UnusedKey(Struct, frozen=True, kw_only=True):
    """An API key of an account, with its last use, if any."""

    id: Id
    key_name: str
    user_id: Id
    user_name: str
    create_time: datetime
    last_use_time: datetime | None


class KeyWithScopes(UnusedKey, frozen=True, kw_only=True):
    """An API key of a person with its scopes, and the codes that they have needed.

    The use of the key is recorded without a gap since ``recorded_since``.
    """

    recorded_since: datetime
    scopes: tuple[str, ...]
    needed_codes: tuple[str, ...]


_EVER: Final = sa.text("'-infinity'::timestamptz")
_RECORDED: Final = sa.func.greatest(
    api_key.c.create_time, sa.select(sa.func.max(restore_epoch.c.begin_time)).scalar_subquery()
)
_SCOPES: Final = RowMapper(
    KeyWithScopes, api_key, user_name=user.c.user_name, recorded_since=_RECORDED.label("recorded_since")
)
_KEY: Final = RowMapper(UnusedKey, api_key, user_name=user.c.user_name)
_GIVEN: Final = RowMapper(GivenCode, role_code_life)
_LAST_DAYS: Final = msgspec.json.Decoder(dict[str, int])


def _beginning(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)


def _day_of(moment: sa.ColumnElement[Any]) -> sa.ColumnElement[date]:
    return sa.cast(sa.func.timezone("UTC", moment), sa.Date)


async def given_codes(connection: Connection) -> list[GivenCode]:
    """Return the current codes of roles, by role and code."""
    life = role_code_life.c
    of_roles = role_code_life.join(role, role.c.id == life.role_id)
    given = _GIVEN.select.select_from(of_roles).where(life.end_time.is_(None), life.code != "")
    return await _GIVEN.all(connection, given.order_by(life.role_code, life.code))


async def needed_codes(connection: Connection) -> list[str]:
    """Return the codes needed by any user, within the retention period."""
    codes = sa.select(sa.func.jsonb_object_keys(permission_use.c.days).label("code")).subquery()
    chosen = sa.select(codes.c.code).distinct().where(codes.c.code.regexp_match(NO_WORD))
    return list((await connection.execute(chosen)).scalars())


async def button_codes(connection: Connection) -> frozenset[str]:
    """Return the codes that a role can give: those of the enabled Buttons."""
    codes = sa.select(menu.c.auth_mark).where(menu.c.menu_type == "Button", menu.c.enabled)
    return frozenset((await connection.execute(codes)).scalars())


async def role_uses(connection: Connection, since: date) -> dict[int, dict[str, int]]:
    """Return the last day on which holders of each role needed a code while they held the role.

    By role and code; the day is the number of days after ``since``. Codes that other roles gave are included.
    With twenty thousand users that is half a million pairs, so each role is one row.
    """
    live, ended = user_role.c, ended_assignment.c

    def held(table: Any, over: sa.ColumnElement[Any]) -> sa.Select[Any]:
        begun = sa.func.greatest(table.valid_from, table.create_time).label("begun")
        return sa.select(table.role_id, table.user_id, begun, over.label("over"))

    past = held(ended, ended.end_time).where(ended.end_time >= _beginning(since))
    holding = sa.union_all(held(live, live.valid_until), past).subquery("holding")
    used = permission_uses.uses(since).subquery("used")
    meanwhile = (
        (used.c.user_id == holding.c.user_id)
        & (holding.c.begun.is_(None) | (used.c.day >= _day_of(holding.c.begun)))
        & (holding.c.over.is_(None) | (used.c.day <= _day_of(holding.c.over)))
    )
    last = (sa.func.max(used.c.day) - sa.literal(since, sa.Date)).label("last")
    each = (
        sa.select(holding.c.role_id, used.c.code, last)
        .select_from(holding.join(used, meanwhile))
        .where(used.c.code.regexp_match(NO_WORD))
        .group_by(holding.c.role_id, used.c.code)
        .subquery("each")
    )
    by_code = sa.cast(sa.func.json_object_agg(each.c.code, each.c.last), sa.Text)
    rows = await connection.execute(sa.select(each.c.role_id, by_code).group_by(each.c.role_id))
    uses, others = {}, CooperativeYield()
    for role_id, text in rows:
        uses[role_id] = _LAST_DAYS.decode(text)
        await others.after_item()
    return uses


Covered = Mapping[int, Collection[str]]
"""By role id, the needed codes that the role gives."""


def _uses_of_assignments(covered: Covered, since: date | None) -> sa.Select[Any]:
    """Return the query for the last need of assignments: ``id`` and ``day``."""
    ids = [role_id for role_id, given in covered.items() for _ in given]
    codes = [code for given in covered.values() for code in given]
    unnested = sa.func.unnest(array_of_ids(ids), array_of_texts(codes))
    given = unnested.table_valued(
        sa.column("role_id", sa.BigInteger), sa.column("code", sa.Text), name="given"
    )
    gives = given.render_derived()
    used = permission_uses.uses(since).subquery("used")
    begun = sa.func.greatest(user_role.c.valid_from, user_role.c.create_time)
    needed = (
        (gives.c.role_id == user_role.c.role_id)
        & (gives.c.code == used.c.code)
        & (begun.is_(None) | (used.c.day >= _day_of(begun)))
    )
    # Filter by the users' own roles first: many roles give the same code.
    joined = user_role.join(used, used.c.user_id == user_role.c.user_id).join(gives, needed)
    return sa.select(user_role.c.id, used.c.day).select_from(joined)


class Unneeded(Struct, frozen=True):
    """Selects unused assignments: those of ``roles``, in force since before a day and not needed since."""

    since: date
    roles: Collection[int]
    covered: Covered

    @property
    def condition(self) -> sa.ColumnElement[bool]:
        """The condition on ``sys.user_role``."""
        used = _uses_of_assignments(self.covered, self.since).subquery("of_assignments")
        unused = user_role.c.id.not_in(sa.select(used.c.id).distinct())
        return among(user_role.c.role_id, self.roles) & _there_since(self.since) & unused


async def unused_assignments(
    connection: Connection, unneeded: Unneeded, *, page: int, size: int
) -> Page[Assignment]:
    """Return page ``page`` (from 1) of the unused assignments, by the names of users, then by role."""
    statement = (
        sa.select(user_role.c.id)
        .select_from(
            user_role.join(user, user.c.id == user_role.c.user_id).join(
                role, role.c.id == user_role.c.role_id
            )
        )
        .where(unneeded.condition)
        .order_by(user.c.user_name_key, role.c.role_code, user_role.c.id)
    )
    # Reads all ids: a separate count would read all uses again.
    ids = list((await connection.execute(statement)).scalars())
    return Page(await assignment_list.in_order(connection, ids[(page - 1) * size : page * size]), len(ids))


async def idle_assignments(connection: Connection, since: date) -> int:
    """Count the assignments of users without any use since the month of a day.

    Only assignments that give codes and are older than that day count. It reads no single uses, so it is
    fast.
    """
    gives = role_code_life.c.role_id == user_role.c.role_id
    coded = sa.exists().where(gives, role_code_life.c.end_time.is_(None), role_code_life.c.code != "")
    month = permission_use.c.month >= since.replace(day=1)
    used = sa.exists().where(permission_use.c.user_id == user_role.c.user_id, month)
    counted = sa.select(sa.func.count()).select_from(user_role).where(_there_since(since), coded, ~used)
    return int((await connection.execute(counted)).scalar_one())


def _there_since(since: date) -> sa.ColumnElement[bool]:
    """Return the condition that an assignment is in force, and began before a day."""
    begun = sa.func.coalesce(sa.func.greatest(user_role.c.valid_from, user_role.c.create_time), _EVER)
    return in_force(instant(None)) & (begun < _beginning(since))


async def last_uses_of(
    connection: Connection, covered: Covered, assignment_ids: Collection[int]
) -> dict[int, date]:
    """Return the last need of assignments by their ids, within the retention period."""
    chosen = among(user_role.c.id, assignment_ids)
    used = _uses_of_assignments(covered, None).where(chosen).subquery()
    last = sa.select(used.c.id, sa.func.max(used.c.day).label("day")).group_by(used.c.id)
    return {row.id: row.day async for row in each_row(await connection.execute(last))}


async def unused_keys(connection: Connection, since: date, *, page: int, size: int) -> Page[UnusedKey]:
    """Return page ``page`` (from 1) of the valid API keys that are older than a day and unused since then."""
    key, begun = api_key.c, _beginning(since)
    statement = _KEY.select.select_from(api_key.join(user, user.c.id == key.user_id)).where(
        key.create_time < begun,
        key.last_use_time.is_(None) | (key.last_use_time < begun),
        key.expire_time.is_(None) | (key.expire_time > sa.func.now()),
    )
    order = (user.c.user_name_key, key.id)
    return (await page_of(connection, statement, page=page, size=size, order=order)).of(_KEY)


async def keys_with_more_scopes(
    connection: Connection, since: date, *, page: int, size: int
) -> Page[KeyWithScopes]:
    """Return page ``page`` (from 1) of the valid keys of people that could have fewer or narrower scopes.

    A key is judged once its use is recorded since before a day, or for as long as the key will still last.
    """
    key, now = api_key.c, sa.func.now()
    is_judged = (_beginning(since) > _RECORDED) | (now - _RECORDED >= key.expire_time - now)
    # A scope with a wildcard is no needed code.
    statement = _SCOPES.select.select_from(api_key.join(user, user.c.id == key.user_id)).where(
        key.needed_codes.is_not(None),
        ~key.needed_codes.contains(key.scopes),
        key.expire_time > now,
        is_judged,
    )
    order = (user.c.user_name_key, key.id)
    return (await page_of(connection, statement, page=page, size=size, order=order)).of(_SCOPES)
