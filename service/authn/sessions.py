"""Device sessions after login: listed, and ended by their users or by administrators."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

import structlog
from msgspec import Meta, Struct

from service.authn.login_log import UNRECORDED, LoginLog
from service.errors import Conflict, NotFound, RefreshRequired, ValidationFailed
from service.kernel.clock import from_seconds
from service.kernel.core_sentences import sentence
from service.kernel.device import is_device
from service.kernel.identity import Caller, Target
from service.keyspace import DeviceSession, OnlineSession, SessionStore
from service.records.logs.events import SessionEvent

_log = structlog.get_logger(__name__)


class OwnSession(Struct, frozen=True):
    """A device session as its user sees it."""

    device: Annotated[str, Meta(examples=["web"])]
    login_time: datetime
    last_refresh_time: datetime
    login_ip: Annotated[str, Meta(examples=["203.0.113.7"])]
    user_agent: str
    browser: Annotated[str, Meta(examples=["Firefox 145"])]
    os: Annotated[str, Meta(examples=["Linux"])]
    current: bool


class OnlineUser(Struct, frozen=True):
    """A device session as administrators see it."""

    login_id: Annotated[str, Meta(examples=["1"])]
    user_name: Annotated[str, Meta(examples=["admin"])]
    nick_name: str
    device: Annotated[str, Meta(examples=["web"])]
    login_time: datetime
    login_ip: Annotated[str, Meta(examples=["203.0.113.7"])]
    user_agent: str
    browser: Annotated[str, Meta(examples=["Firefox 145"])]
    os: Annotated[str, Meta(examples=["Linux"])]


@dataclass(frozen=True, slots=True)
class OnlineUsers:
    """A page of the online list; ``next_cursor`` leads to the next one."""

    items: tuple[OnlineUser, ...]
    total: int
    next_cursor: str | None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Sessions:
    """Lists and ends device sessions. Ending one revokes it, and all access tokens of its user.

    Methods that take a device raise ``ValidationFailed`` for a malformed one, which never becomes part of a
    key. Ended sessions are recorded in the login log, each once. Acts of administrators on others are also
    logged on standard output; the line of the request, which has the same id, names the actor.
    """

    store: SessionStore
    log: LoginLog = UNRECORDED

    async def own(self, caller: Caller) -> list[OwnSession]:
        """Return the caller's sessions, the latest login first."""
        by_device = await self.store.sessions(caller.login_id)
        newest_first = sorted(by_device.items(), key=lambda item: item[1].login_time, reverse=True)
        return [_own(device, session, caller) for device, session in newest_first]

    async def log_out(self, caller: Caller) -> None:
        """End the session of the caller's token; a newer one on the same device stays.

        ``Conflict`` for a caller who came with an API key, and so has no session.
        """
        _require_session(caller)
        if await self.store.close_session(caller.login_id, caller.device, opened_by=caller.issued_at):
            self._enter_own("logout", caller, caller.device)

    async def log_out_everywhere(self, caller: Caller) -> int:
        """End all sessions of the caller and return their number; ``Conflict`` as in ``log_out``."""
        _require_session(caller)
        ended = await self.store.close_sessions(caller.login_id)
        if ended:
            self._enter_own("logout_all", caller, caller.device)
        return ended

    async def end_own(self, caller: Caller, device: str) -> None:
        """End the caller's session on ``device``; ``NotFound`` if it does not exist."""
        await self._end(caller.login_id, device)
        self._enter_own("session_end", caller, device)

    async def online(
        self,
        *,
        page: int = 1,
        size: int = 20,
        cursor: str | None = None,
        user_name: str = "",
        login_ip: str = "",
        device: str = "",
    ) -> OnlineUsers:
        """Return a page of the live sessions, the latest login or refresh first.

        Filters are exact; an empty one matches all. ``cursor`` instead of ``page`` continues after another
        page.
        """
        try:
            listed = await self.store.online.page(
                number=page,
                size=size,
                cursor=cursor,
                user_name=user_name,
                login_ip=login_ip,
                device=device,
            )
        except ValueError:
            raise ValidationFailed(("cursor", sentence("cursor_of_another_service"))) from None
        return OnlineUsers(tuple(map(_online, listed.rows)), listed.total, listed.next_cursor)

    async def kick(self, target: Target) -> int:
        """End all sessions of a user and return their number; ``NotFound`` without one."""
        login_id = target.login_id
        by_device = await self.store.sessions(login_id)
        ended = await self.store.close_sessions(login_id)
        if not ended:
            raise NotFound(sentence("no_session_of_user"))
        user_name = next((session.user_name for session in by_device.values()), None)
        self.log.by_other("kick", target.user_id, user_name)
        _security("all sessions of a user were ended", login_id, ended=ended)
        return ended

    async def kick_device(self, target: Target, device: str) -> None:
        """End one session of a user; ``NotFound`` without a session on ``device``."""
        login_id = target.login_id
        by_device = await self.store.sessions(login_id)
        await self._end(login_id, device)
        user_name = by_device[device].user_name if device in by_device else None
        self.log.by_other("kick", target.user_id, user_name, device)
        _security("a session of a user was ended", login_id, device=device)

    def _enter_own(self, event: SessionEvent, caller: Caller, device: str) -> None:
        self.log.own(event, caller.user_id, caller.user_name, device)

    async def _end(self, login_id: str, device: str) -> None:
        if not is_device(device):
            raise ValidationFailed(("device", sentence("not_a_device", pattern="[a-z0-9][a-z0-9_-]{0,31}")))
        if not await self.store.close_session(login_id, device):
            raise NotFound(sentence("no_such_session"))


async def live_session(store: SessionStore, caller: Caller) -> DeviceSession:
    """Return the session of the caller's token; raises ``RefreshRequired`` if it has ended meanwhile."""
    session = (await store.sessions(caller.login_id)).get(caller.device)
    if session is None or round(1000 * session.login_time) > round(1000 * caller.issued_at):
        raise RefreshRequired
    return session


def _require_session(caller: Caller) -> None:
    if caller.key_id is not None:
        raise Conflict(sentence("key_without_session"), rule="kind_of_account")


def _security(event: str, login_id: str, **facts: object) -> None:
    _log.info(event, event_type="security", login_id=login_id, **facts)


def _own(device: str, session: DeviceSession, caller: Caller) -> OwnSession:
    return OwnSession(
        device=device,
        login_time=from_seconds(session.login_time),
        last_refresh_time=from_seconds(session.last_refresh_time),
        login_ip=session.login_ip,
        user_agent=session.user_agent,
        browser=session.browser,
        os=session.os,
        current=device == caller.device,
    )


def _online(row: OnlineSession) -> OnlineUser:
    session = row.session
    return OnlineUser(
        login_id=row.login_id,
        user_name=session.user_name,
        nick_name=session.nick_name,
        device=row.device,
        login_time=from_seconds(session.login_time),
        login_ip=session.login_ip,
        user_agent=session.user_agent,
        browser=session.browser,
        os=session.os,
    )
