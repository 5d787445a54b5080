"""Sessions: the caller's own below ``/api/auth``, and those of all users: ``/api/online``."""

from typing import Annotated

from msgspec import Meta

from service.administration.bans import Bans, Kicks
from service.authn import sessions
from service.authn.sessions import Sessions
from service.endpoints.record_endpoints import Endpoint
from service.endpoints.tokens import EndedDevice
from service.errors import Conflict, NotFound
from service.kernel.text import MAX_USER_NAME
from service.kernel.value_rules import BAN_REASON, bounds_of
from service.web.messages.context import RequestContext
from service.web.messages.cookies import Cookies
from service.web.messages.operation_metadata import Responders, by_session, login, needs, writes
from service.web.messages.record_schemas import shows
from service.web.messages.schema import Moment, Page, PageQuery, Schema, moment


class Ended(Schema):
    """The number of sessions ended."""

    ended: Annotated[int, Meta(ge=0, examples=[2])]


class _SessionEnd(Responders):
    """The base of what ends own sessions, and may end that of the cookies."""

    def __init__(self, sessions: Sessions, cookies: Cookies) -> None:
        self._sessions = sessions
        self._cookies = cookies


class Logout(_SessionEnd, at="/api/auth/logout"):
    @login(name="logOut", refuses=[Conflict])
    @by_session("end-sessions")
    @writes("logout", "LOGOUT")
    async def on_post(self, context: RequestContext) -> None:
        """End the session of this device."""
        await self._sessions.log_out(context.user)
        self._cookies.clear(context)


class LogoutAll(Responders, at="/api/auth/logout/all"):
    def __init__(self, kicks: Kicks, cookies: Cookies) -> None:
        self._kicks = kicks
        self._cookies = cookies

    @login(name="logOutEverywhere", refuses=[Conflict])
    @by_session("end-sessions")
    @writes("logout everywhere", "LOGOUT")
    async def on_post(self, context: RequestContext) -> Ended:
        """End the caller's sessions on all devices, including this one, and delete the caller's API keys."""
        ended = await self._kicks.log_out_everywhere(context.user)
        self._cookies.clear(context)
        return Ended(ended=ended)


@shows(sessions.OwnSession)
class Session(Schema):
    """A device on which the caller is logged in; `current` is true for the requesting one."""


class OwnSessions(Endpoint[Sessions], at="/api/auth/sessions"):
    @login(name="listOwnSessions")
    async def on_get(self, context: RequestContext) -> list[Session]:
        """List the caller's sessions, the latest login first."""
        return [Session.of(session) for session in await self.part.own(context.user)]


class SessionOnDevice(_SessionEnd, at="/api/auth/sessions/{device}"):
    @login(name="endOwnSession", refuses=[NotFound])
    @by_session("end-sessions")
    @writes("end a session", "LOGOUT")
    async def on_delete(self, context: RequestContext, device: EndedDevice) -> None:
        """End the caller's session on a device."""
        await self._sessions.end_own(context.user, device)
        if device == context.user.device:
            self._cookies.clear(context)


LONGEST_BAN = 10 * 366 * 86_400
"""The longest ban with an end, in seconds; without ``seconds`` a ban has no end."""


@shows(sessions.OnlineUser)
class OnlineUser(Schema):
    """A user on one device; `loginId` is the `sub` of the tokens."""


class OnlineUsers(Page[OnlineUser]):
    """A page of online users; `nextCursor` is the cursor of the next page."""

    next_cursor: str | None


class OnlineQuery(PageQuery):
    """Exact filters of online users; a `cursor` continues after a page, and `page` is then ignored."""

    user_name: Annotated[str, Meta(min_length=1, max_length=MAX_USER_NAME)] | None = None
    login_ip: Annotated[str, Meta(min_length=1, max_length=45)] | None = None
    device: Annotated[str, Meta(min_length=1, max_length=32)] | None = None
    cursor: Annotated[str, Meta(min_length=1, max_length=128)] | None = None


class OnlineList(Endpoint[Sessions], at="/api/online/list"):
    @needs("system:online:list", name="listOnlineUsers")
    async def on_get(self, context: RequestContext, query: OnlineQuery) -> OnlineUsers:
        """List online users, the latest login or refresh first."""
        users = await self.part.online(
            page=query.page,
            size=query.size,
            cursor=query.cursor,
            user_name=query.user_name or "",
            login_ip=query.login_ip or "",
            device=query.device or "",
        )
        return OnlineUsers(
            items=[OnlineUser.of(row) for row in users.items],
            page=query.page,
            size=query.size,
            total=users.total,
            next_cursor=users.next_cursor,
        )


class Kicked(Schema):
    """The number of sessions ended."""

    ended: Annotated[int, Meta(ge=0, examples=[2])]


class OnlineUserSessions(Endpoint[Kicks], at="/api/online/{login_id}"):
    @needs("system:online:kick", name="kickUser", refuses=[NotFound])
    @writes("kick", "KICK")
    async def on_delete(self, context: RequestContext, login_id: int) -> Kicked:
        """End all sessions of a user with at most the caller's permissions."""
        return Kicked(ended=await self.part.kick(context.user, login_id))


class OnlineUserDevice(Endpoint[Kicks], at="/api/online/{login_id}/{device}"):
    @needs("system:online:kick", name="kickUserDevice", refuses=[NotFound])
    @writes("kick from a device", "KICK")
    async def on_delete(self, context: RequestContext, login_id: int, device: EndedDevice) -> None:
        """End the session on one device of a user with at most the caller's permissions."""
        await self.part.kick_device(context.user, login_id, device)


class BanOrder(Schema):
    """Duration and reason of a ban; without `seconds` it lasts until it is cleared."""

    seconds: Annotated[int, Meta(ge=1, le=LONGEST_BAN, examples=[3600])] | None = None
    reason: Annotated[str, bounds_of(BAN_REASON), Meta(examples=["password shared"])] = ""


class Ban(Schema):
    """The end of the ban, null if it has none, and the number of sessions ended."""

    until: Moment | None
    ended: Annotated[int, Meta(ge=0, examples=[1])]


class OnlineUserBan(Endpoint[Bans], at="/api/online/{login_id}/ban"):
    @needs("system:online:ban", name="banUser", refuses=[NotFound, Conflict])
    @writes("ban", "BAN", example={"seconds": 3600, "reason": "password shared"})
    async def on_post(self, context: RequestContext, login_id: int, body: BanOrder) -> Ban:
        """Ban a user and end all sessions of that user.

        An existing longer ban keeps its end. Callers can't ban themselves or users with more permissions than
        their own.
        """
        banned = await self.part.ban(context.user, login_id, body.seconds, body.reason)
        return Ban(until=None if banned.until is None else moment(banned.until), ended=banned.ended)

    @needs("system:online:ban", name="unbanUser")
    @writes("clear a ban", "BAN")
    async def on_delete(self, context: RequestContext, login_id: int) -> None:
        """Lift the ban, if any, of a user with at most the caller's permissions."""
        await self.part.unban(context.user, login_id)
