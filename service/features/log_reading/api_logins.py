"""The login log: ``/api/login-log``, and the caller's own part of it."""

from typing import Annotated, Literal

from msgspec import Meta

from service.features.log_reading import lists as log_lists
from service.features.log_reading.api_views import LogEndpoint, LogQuery, LogView, Word, export_of, list_of
from service.features.log_reading.store_queries import LOGINS, Login, LoginFilter
from service.records.logs.events import SessionEvent
from service.web.messages.context import RequestContext
from service.web.messages.operation_metadata import login
from service.web.messages.record_schemas import shows
from service.web.messages.schema import SEVERAL, Id, PageNumber, PageSize, Schema

Device = Annotated[str, Meta(min_length=1, max_length=32)]
Events = Annotated[list[SessionEvent], SEVERAL]
Outcomes = Annotated[list[Literal["success", "failure"]], SEVERAL]


@shows(Login)
class LoginEntry(Schema):
    """An event of a session, or a failed attempt; `reason` is the code of the refusal."""


class LoginQuery(LogQuery):
    """Exact filters of login events."""

    user_id: Id | None = None
    user_name: log_lists.UserName | None = None
    event: Events | None = None
    outcome: Outcomes | None = None
    reason: Word | None = None
    device: Device | None = None
    login_ip: log_lists.Address | None = None
    request_id: log_lists.RequestId | None = None
    trace_id: log_lists.TraceId | None = None

    @property
    def criteria(self) -> LoginFilter:
        """The filter; raises ValidationFailed for a malformed address."""
        return self.filter(LOGINS)


_VIEW = LogView(
    name="login-log",
    entries="login events",
    log=LOGINS,
    query=LoginQuery,
    entry=LoginEntry,
    page=log_lists.TimePage[LoginEntry],
    exported=LOGINS,
    row=LoginEntry,
)

LoginList = list_of(_VIEW)
LoginExport = export_of(_VIEW)


class OwnLoginQuery(log_lists.TimeQuery):
    """Filters of events and a page: by number within the first 10,000, or by cursor without a limit."""

    event: Events | None = None
    outcome: Outcomes | None = None
    device: Device | None = None
    page: PageNumber = 1
    size: PageSize = 20
    cursor: log_lists.Cursor | None = None
    after: log_lists.After | None = None


class OwnLogins(LogEndpoint, at="/api/user/profile/login-logs"):
    @login(name="listOwnLogins")
    async def on_get(self, context: RequestContext, query: OwnLoginQuery) -> log_lists.TimePage[LoginEntry]:
        """List the caller's own login events, the latest first."""
        criteria = query.filter(LOGINS, user_id=context.user.user_id)
        return await log_lists.time_page(self.logs, LOGINS, criteria, query, LoginEntry)
