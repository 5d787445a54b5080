"""The caller's own sessions: ``/api/auth/logout`` and ``/api/auth/sessions``."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from service.authn import sessions as authn
from service.endpoints.tokens import EndedDevice
from service.errors import Conflict, NotFound
from service.web.messages.context import RequestContext
from service.web.messages.cookies import Cookies
from service.web.messages.operation_metadata import logged, login, named, refuses
from service.web.messages.schema import Moment, Schema


class Ended(Schema):
    """The number of sessions ended."""

    ended: Annotated[int, Meta(ge=0, examples=[2])]


class _SessionEnd:
    """The base of what ends own sessions, and may end that of the cookies."""

    def __init__(self, sessions: authn.Sessions, cookies: Cookies) -> None:
        self._sessions = sessions
        self._cookies = cookies


class Logout(_SessionEnd):
    """``/api/auth/logout``."""

    @login
    @logged("auth", "logout", "LOGOUT")
    @refuses(Conflict)
    @named("logOut")
    async def on_post(self, context: RequestContext) -> None:
        """End the session of this device."""
        await self._sessions.log_out(context.user)
        self._cookies.clear(context)


class LogoutAll(_SessionEnd):
    """``/api/auth/logout/all``."""

    @login
    @logged("auth", "logout everywhere", "LOGOUT")
    @refuses(Conflict)
    @named("logOutEverywhere")
    async def on_post(self, context: RequestContext) -> Ended:
        """End the caller's sessions on all devices, including this one."""
        ended = await self._sessions.log_out_everywhere(context.user)
        self._cookies.clear(context)
        return Ended(ended=ended)


class Session(Schema):
    """A device on which the caller is logged in; `current` is true for the requesting one."""

    device: Annotated[str, Meta(examples=["web"])]
    login_time: Moment
    last_refresh_time: Moment
    login_ip: Annotated[str, Meta(examples=["203.0.113.7"])]
    user_agent: str
    browser: Annotated[str, Meta(examples=["Firefox 145"])]
    os: Annotated[str, Meta(examples=["Linux"])]
    current: bool


class Sessions:
    """``/api/auth/sessions``."""

    def __init__(self, sessions: authn.Sessions) -> None:
        self._sessions = sessions

    @login
    @named("listOwnSessions")
    async def on_get(self, context: RequestContext) -> list[Session]:
        """List the caller's sessions, the latest login first."""
        return [Session.of(session) for session in await self._sessions.own(context.user)]


class SessionOnDevice(_SessionEnd):
    """``/api/auth/sessions/{device}``."""

    @login
    @logged("auth", "end a session", "LOGOUT")
    @refuses(NotFound)
    @named("endOwnSession")
    async def on_delete(self, context: RequestContext, device: EndedDevice) -> None:
        """End the caller's session on a device."""
        await self._sessions.end_own(context.user, device)
        if device == context.user.device:
            self._cookies.clear(context)
