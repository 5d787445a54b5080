"""Events about the caller's own account, as a stream for front ends."""

from service.kernel.feature import Feature

FEATURE = Feature(
    name="event_stream",
    title="Event streams for front ends: changed rights, and the end of the session",
    off=True,
    paths=("/api/events/mine",),
    settings=("auth.event_streams",),
    tags={"events": "Events about the caller's own account."},
    sentences="sentences:sentence",
    parts="parts:EventStreams",
    routes="api:add_routes",
)
