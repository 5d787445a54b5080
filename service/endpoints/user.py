"""Users: ``/api/user``."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from service.errors import RefreshRequired
from service.records import users
from service.records.database import Database
from service.web.call import Call
from service.web.marks import login
from service.web.wire import Id, Wire


class UserInfo(Wire):
    """The caller's own account, with the roles and permission codes that are in force now."""

    user_id: Id
    user_name: Annotated[str, Meta(examples=["admin"])]
    nick_name: Annotated[str, Meta(examples=["Administrator"])]
    email: str | None
    avatar: str | None
    roles: Annotated[list[str], Meta(examples=[["super"]])]
    permissions: Annotated[list[str], Meta(examples=[["*"]])]


class Info:
    """``/api/user/info``."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @login
    async def on_get(self, call: Call) -> UserInfo:
        """Return the caller's own account."""
        async with self._database.transaction() as connection:
            info = await users.info(connection, call.user.user_id)
        if info is None:  # deleted while the token lived
            raise RefreshRequired
        return UserInfo.of(info)
