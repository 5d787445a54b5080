"""``/api/events/mine``: events about the caller's own account."""

from typing import Any

from service.endpoints.record_endpoints import Endpoint
from service.errors import BadRequest, Conflict, RateLimited
from service.features.event_stream.messages import MEDIA_TYPE
from service.features.event_stream.parts import EventStreams, part_in
from service.web.content.streams import Stream
from service.web.messages.context import RequestContext
from service.web.messages.operation_metadata import login, sends
from service.web.requests.routes import Routes


class OwnEvents(Endpoint[EventStreams], at="/api/events/mine"):
    @login(name="followOwnEvents", refuses=[BadRequest, Conflict, RateLimited])
    @sends(MEDIA_TYPE)
    async def on_get(self, context: RequestContext) -> Stream:
        """Follow events about the caller's own account, as server-sent events.

        `connected` begins a new stream. `permissions` reports that roles, permission codes, menus or allowed
        operations of the caller have changed: read them again. Both have `roles` and `permissions` as
        `GET /api/user/info`. `sessions` lists the caller's sessions after one began or ended. `end` reports
        that the session of the stream has ended; do not connect again with it. Other events, such as
        `role.given`, report what happened to the account, with `id`, `timestamp` and `data` as webhooks get
        them.

        After a lost connection, send the id of the last event in `Last-Event-ID`: missed events and changes
        follow at once. The stream belongs to the device session, outlives the access token, and ends with the
        session. A session has at most `auth.event_streams` of them. API keys have none.
        """
        return await self.part.open(context)


def add_routes(routes: Routes, container: Any) -> None:
    """Register the endpoint of the event streams in ``container``."""
    part = part_in(container)
    part.about(routes.operations)
    routes.serve(OwnEvents(part))
