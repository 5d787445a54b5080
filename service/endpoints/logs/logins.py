"""The login log: ``/api/login-log``, and the caller's own part of it."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from service.records.logs.queries import LOGINS
from service.records.logs.reader import LogReader
from service.web.content.exports import CSV, JSON_LINES, export
from service.web.content.streams import Stream
from service.web.content.timelines import (
    Address,
    Cursor,
    FileFormat,
    Limit,
    RequestId,
    TimelinePage,
    TimeQuery,
    UserName,
    batches_of,
    timeline_page,
)
from service.web.requests.context import RequestContext
from service.web.requests.marks import logged, login, needs, sends
from service.web.requests.schema import Id, Moment, PageNumber, PageSize, Schema

Word = Annotated[str, Meta(min_length=1, max_length=64)]
Device = Annotated[str, Meta(min_length=1, max_length=32)]


class LoginEntry(Schema):
    """An event of a session, or a failed attempt; `reason` is the code of the refusal."""

    id: Id
    create_time: Moment
    request_id: Annotated[str, Meta(examples=["8d5f0c39d1a2b4e7"])] | None
    event: Annotated[str, Meta(examples=["login"])]
    outcome: Literal["success", "failure"]
    reason: Annotated[str, Meta(examples=["login_failed"])] | None
    user_id: Id | None
    user_name: Annotated[str, Meta(examples=["admin"])] | None
    device: Annotated[str, Meta(examples=["web"])] | None
    login_ip: Annotated[str, Meta(examples=["203.0.113.7"])] | None
    user_agent: str | None
    browser: Annotated[str, Meta(examples=["Firefox 145"])] | None
    os: Annotated[str, Meta(examples=["Linux"])] | None


class OwnLoginQuery(TimeQuery):
    """Filters of events and a page: by number within the first 10,000, or by cursor without a limit."""

    event: Word | None = None
    outcome: Literal["success", "failure"] | None = None
    device: Device | None = None
    page: PageNumber = 1
    size: PageSize = 20
    cursor: Cursor | None = None


class LoginQuery(TimeQuery):
    """Exact filters of login events."""

    user_id: Id | None = None
    user_name: UserName | None = None
    event: Word | None = None
    outcome: Literal["success", "failure"] | None = None
    reason: Word | None = None
    device: Device | None = None
    login_ip: Address | None = None
    request_id: RequestId | None = None


class LoginListQuery(LoginQuery):
    """Filters of events and a page: by number within the first 10,000, or by cursor without a limit."""

    page: PageNumber = 1
    size: PageSize = 20
    cursor: Cursor | None = None


class LoginExportQuery(LoginQuery):
    """Filters of login events, their number, and the format of the file."""

    format: FileFormat = "csv"
    limit: Limit = 100_000


class LoginList:
    """``/api/login-log/list``."""

    def __init__(self, logs: LogReader) -> None:
        self._logs = logs

    @needs("system:login-log:list")
    async def on_get(self, context: RequestContext, query: LoginListQuery) -> TimelinePage[LoginEntry]:
        """List login events, the latest first.

        Follow `nextCursor` to read any number of entries. Entries logged meanwhile cause no duplicates and no
        omissions.
        """
        return await timeline_page(self._logs, LOGINS, query.filter(LOGINS), query, LoginEntry)


class LoginExport:
    """``/api/login-log/export``."""

    def __init__(self, logs: LogReader) -> None:
        self._logs = logs

    @needs("system:login-log:export")
    @logged("login-log", "export", "EXPORT", response=False)
    @sends(CSV, JSON_LINES)
    async def on_get(self, context: RequestContext, query: LoginExportQuery) -> Stream:
        """Export login events as a file, with the fields of the list."""
        rows = batches_of(self._logs, LOGINS, query.filter(LOGINS), query, LoginEntry)
        return export(rows, LoginEntry, query.format, "login-log")


class OwnLogins:
    """``/api/user/profile/login-logs``."""

    def __init__(self, logs: LogReader) -> None:
        self._logs = logs

    @login
    async def on_get(self, context: RequestContext, query: OwnLoginQuery) -> TimelinePage[LoginEntry]:
        """List the caller's own login events, the latest first."""
        wanted = query.filter(LOGINS, user_id=context.user.user_id)
        return await timeline_page(self._logs, LOGINS, wanted, query, LoginEntry)
