"""Online users: ``/api/online``."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from service.administration.users.bans import Bans
from service.administration.users.kicks import Kicks
from service.authn.sessions import Sessions
from service.errors import Conflict, NotFound
from service.web.requests.context import RequestContext
from service.web.requests.marks import logged, needs, refuses
from service.web.requests.schema import Moment, Page, PageQuery, Schema, moment

LONGEST_BAN = 10 * 366 * 86_400
"""The longest ban that ends by itself, in seconds; without ``seconds`` a ban has no end."""


class OnlineUser(Schema):
    """A user on one device; `loginId` is the `sub` of the tokens."""

    login_id: Annotated[str, Meta(examples=["1"])]
    user_name: Annotated[str, Meta(examples=["admin"])]
    nick_name: str
    device: Annotated[str, Meta(examples=["web"])]
    login_time: Moment
    login_ip: Annotated[str, Meta(examples=["203.0.113.7"])]
    user_agent: str
    browser: Annotated[str, Meta(examples=["Firefox 145"])]
    os: Annotated[str, Meta(examples=["Linux"])]


class OnlineUsers(Page[OnlineUser]):
    """A page of online users; `nextCursor` leads to the next page however many there are."""

    next_cursor: str | None


class OnlineQuery(PageQuery):
    """Which online users, by exact filters; a `cursor` goes on where a page ended, whatever `page` says."""

    user_name: Annotated[str, Meta(min_length=1, max_length=64)] | None = None
    login_ip: Annotated[str, Meta(min_length=1, max_length=45)] | None = None
    device: Annotated[str, Meta(min_length=1, max_length=32)] | None = None
    cursor: Annotated[str, Meta(min_length=1, max_length=128)] | None = None


class OnlineList:
    """``/api/online/list``."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    @needs("system:online:list")
    async def on_get(self, context: RequestContext, query: OnlineQuery) -> OnlineUsers:
        """List online users, the latest to log in or refresh first."""
        found = await self._sessions.online(
            page=query.page,
            size=query.size,
            cursor=query.cursor,
            user_name=query.user_name or "",
            login_ip=query.login_ip or "",
            device=query.device or "",
        )
        return OnlineUsers(
            items=[OnlineUser.of(row) for row in found.items],
            page=query.page,
            size=query.size,
            total=found.total,
            next_cursor=found.next_cursor,
        )


class Kicked(Schema):
    """How many sessions were ended."""

    ended: Annotated[int, Meta(ge=0, examples=[2])]


class OnlineUserSessions:
    """``/api/online/{login_id}``."""

    def __init__(self, kicks: Kicks) -> None:
        self._kicks = kicks

    @needs("system:online:kick")
    @logged("online", "kick", "KICK")
    @refuses(NotFound)
    async def on_delete(self, context: RequestContext, login_id: int) -> Kicked:
        """End all sessions of a user, who holds no more than the caller."""
        return Kicked(ended=await self._kicks.kick(context.user, login_id))


class OnlineUserDevice:
    """``/api/online/{login_id}/{device}``."""

    def __init__(self, kicks: Kicks) -> None:
        self._kicks = kicks

    @needs("system:online:kick")
    @logged("online", "kick from a device", "KICK")
    @refuses(NotFound)
    async def on_delete(self, context: RequestContext, login_id: int, device: str) -> None:
        """End the session of a user, who holds no more than the caller, on one device."""
        await self._kicks.kick_device(context.user, login_id, device)


class BanOrder(Schema):
    """How long, and why; without `seconds` until somebody clears it."""

    seconds: Annotated[int, Meta(ge=1, le=LONGEST_BAN, examples=[3600])] | None = None
    reason: Annotated[str, Meta(max_length=200, examples=["password shared"])] = ""


class Ban(Schema):
    """When the ban ends by itself, if it does, and how many sessions it ended."""

    until: Moment | None
    ended: Annotated[int, Meta(ge=0, examples=[1])]


class OnlineUserBan:
    """``/api/online/{login_id}/ban``."""

    def __init__(self, bans: Bans) -> None:
        self._bans = bans

    @needs("system:online:ban")
    @logged("online", "ban", "BAN")
    @refuses(NotFound, Conflict)
    async def on_post(self, context: RequestContext, login_id: int, body: BanOrder) -> Ban:
        """Ban a user and end all sessions.

        A ban that lasts longer already keeps its end. Nobody bans themselves, nor a user who holds more than
        they do.
        """
        banned = await self._bans.ban(context.user, login_id, body.seconds, body.reason)
        return Ban(until=None if banned.until is None else moment(banned.until), ended=banned.ended)

    @needs("system:online:ban")
    @logged("online", "clear a ban", "BAN")
    async def on_delete(self, context: RequestContext, login_id: int) -> None:
        """Clear the ban of a user, if there is one, who holds no more than the caller."""
        await self._bans.unban(context.user, login_id)
