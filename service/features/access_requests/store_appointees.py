"""``sys.access_request_appointee``: users whom the author of a request gave an approver's rights.

Callers hold ``role_rights.lock``, so that no request is created and no right changes meanwhile.
"""

from collections.abc import Collection
from datetime import datetime
from typing import Final

import sqlalchemy as sa
from msgspec import Struct
from sqlalchemy.dialects.postgresql import array
from sqlalchemy.dialects.postgresql import insert as upsert

from service.features.access_requests.schema import access_request, access_request_appointee
from service.features.access_requests.store import IS_OPEN
from service.records.database.filters import among
from service.records.database.row_mapper import RowMapper
from service.records.database.transactions import Connection
from service.records.schema.rights import menu, role, role_menu, user, user_role


class PendingStages(Struct, frozen=True):
    """A request: role, codes of its stages, and true if approvers must be able to grant the role's codes."""

    id: int
    user_id: int
    role_id: int
    stage_codes: tuple[str, ...]
    grant_needed: bool


class Ground(Struct, frozen=True):
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
        """Return the identity of the ground, which changes of window or state keep."""
        return self.assignment_id, self.button_id, self.code

    def is_within(self, other: "Ground") -> bool:
        """Return true if this ground gives no more than ``other``, which has the same key."""
        begins = other.valid_from is None or (
            self.valid_from is not None and self.valid_from >= other.valid_from
        )
        ends = other.valid_until is None or (
            self.valid_until is not None and self.valid_until <= other.valid_until
        )
        return begins and ends and all(map(bool.__le__, self.enabled, other.enabled))


# A literal, because a prepared statement with a parameter cannot use the partial index.
_IDS: Final = sa.ARRAY(sa.BigInteger)
_IS_PENDING: Final = access_request.c.state == sa.literal_column("'pending'")
_PENDING: Final = RowMapper(PendingStages, access_request)
_GROUND: Final = RowMapper(
    Ground,
    user_role,
    assignment_id=user_role.c.id,
    button_id=menu.c.id,
    code=menu.c.auth_mark,
    enabled=array([role.c.enabled, menu.c.enabled, user.c.status == "enabled"]),
)
_APPOINTED: Final = (
    sa.exists()
    .where(access_request_appointee.c.request_id == access_request.c.id)
    .where(access_request_appointee.c.user_id == sa.any_(sa.bindparam("user_ids", type_=_IDS)))
    .label("appointed")
)
_OPEN_ONES: Final = (
    sa.select(*_PENDING.columns, _APPOINTED).where(_IS_PENDING | IS_OPEN).order_by(access_request.c.id)
)


async def open_ones(connection: Connection, user_ids: Collection[int]) -> list[tuple[PendingStages, bool]]:
    """Return the pending requests and the emergencies that are not closed, by id.

    The flag of each is true if its author appointed any of these users as an approver.
    """
    rows = await connection.execute(_OPEN_ONES, {"user_ids": list(user_ids)})
    return [(_PENDING.of(row), row.appointed) for row in rows]


async def appoint(connection: Connection, request_id: int, user_ids: Collection[int]) -> None:
    """Record these users as approvers appointed by the author of a request."""
    if user_ids:
        rows = [{"request_id": request_id, "user_id": user_id} for user_id in sorted(user_ids)]
        await connection.execute(upsert(access_request_appointee).on_conflict_do_nothing(), rows)


async def of_request(connection: Connection, request_id: int) -> set[int]:
    """Return the users whom the author of a request gave an approver's rights."""
    table = access_request_appointee.c
    chosen = sa.select(table.user_id).where(table.request_id == request_id)
    return {*(await connection.execute(chosen)).scalars()}


async def appointing(connection: Connection, user_id: int, request_ids: Collection[int]) -> set[int]:
    """Return those of the requests whose author gave a user an approver's rights."""
    table = access_request_appointee.c
    chosen = sa.select(table.request_id).where(table.user_id == user_id, among(table.request_id, request_ids))
    return {*(await connection.execute(chosen)).scalars()}


async def grounds(connection: Connection, codes: Collection[str]) -> list[Ground]:
    """Return why users hold any of the exact ``codes``: now, later, or once all parts are enabled."""
    statement = (
        _GROUND.select.join_from(user_role, user, user.c.id == user_role.c.user_id)
        .join(role, role.c.id == user_role.c.role_id)
        .join(role_menu, role_menu.c.role_id == role.c.id)
        .join(menu, menu.c.id == role_menu.c.menu_id)
        .where(menu.c.menu_type == "Button")
        .where(menu.c.auth_mark == sa.any_(sa.literal(list(codes), sa.ARRAY(sa.Text))))
    )
    return await _GROUND.all(connection, statement)
