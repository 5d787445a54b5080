"""``/api/webhook``: the destinations of events about rights, their dead letters, tests and replays."""

from datetime import datetime
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from service.endpoints.record_endpoints import Endpoint
from service.errors import NotFound
from service.features.events import store_destinations
from service.features.events.delivery import message_id_of
from service.features.events.sending import send_test
from service.features.events.sentences import sentence
from service.features.events.store_destinations import StoredDestination
from service.features.webhooks.posting import STORED_FAULTS, PostFault
from service.records.database.transactions import Database
from service.settings import EventDestination, EventInclude, EventKind, Settings
from service.web.messages.context import RequestContext
from service.web.messages.operation_metadata import needs, writes
from service.web.messages.schema import Moment, Schema, SentenceParams, moment, stated_as
from service.web.requests.routes import Routes

MOST_SHOWN = 100
_Name = Annotated[str, Meta(examples=["warehouse"])]
_Count = Annotated[int, Meta(ge=0)]


class Webhook(Schema):
    """A destination, without its URL and its secret.

    `lag` is the age of the oldest event that it has not got, in seconds. `sent` counts accepted events, and
    `missed` events that were deleted before they were sent. `fault` is the reason of the last failure, null
    if the last event was accepted. After the answer 410, `stopTime` is not null: nothing is sent
    until a replay.
    """

    name: _Name
    kinds: list[EventKind]
    include: list[EventInclude]
    lag: Annotated[float, Meta(ge=0, description="In seconds.")]
    sent: _Count
    missed: _Count
    dead_letters: _Count
    failures: Annotated[int, Meta(ge=0, description="Failed attempts for the next event.")]
    fault: Annotated[str, Meta(examples=["the receiver responds with 503"])] | None
    fault_code: Annotated[str, Meta(examples=["receiver_responds"])] | None
    fault_params: SentenceParams | None
    success_time: Moment | None
    stop_time: Moment | None


class Webhooks(Schema):
    """The destinations of the settings, in their order."""

    items: list[Webhook]


class WebhookDeadLetter(Schema):
    """An event that the destination has not accepted; `id` is its `webhook-id`."""

    id: Annotated[str, Meta(examples=["msg_4f5be6a2d3e44c2c9a1c4b6a2f0e9d11"])]
    kind: Annotated[str, Meta(examples=["role.given"])]
    event_time: Moment
    dead_time: Moment
    reason: Annotated[str, Meta(examples=["the receiver responds with 422"])]
    reason_code: Annotated[str, Meta(examples=["receiver_responds"])]
    reason_params: SentenceParams


class WebhookDeadLetters(Schema):
    """The newest dead letters, at most a hundred."""

    items: list[WebhookDeadLetter]


class WebhookTestResult(Schema):
    """The outcome of a test event; `fault` is the reason if the receiver did not accept it, else null."""

    accepted: bool
    fault: Annotated[str, Meta(examples=["the receiver responds with 404"])] | None
    fault_code: Annotated[str, Meta(examples=["receiver_responds"])] | None
    fault_params: SentenceParams | None


class WebhookReplayBody(Schema):
    """The time from which on events are sent again; events are kept for `events.days`."""

    since: Annotated[datetime, Meta(tz=True, description="The recorded time of the first event.")] = (
        msgspec.field(name="from")
    )


class WebhookReplay(Schema):
    """The number of events that are sent again, with those not sent before, of all kinds."""

    events: _Count


class Destinations:
    """The parts of the endpoints."""

    def __init__(self, database: Database, settings: Settings) -> None:
        self.database = database
        self.destinations = {each.name: each for each in settings.events.destinations}

    def named(self, name: str) -> EventDestination:
        """Return a destination of the settings; raises NotFound."""
        if (destination := self.destinations.get(name)) is None:
            raise NotFound(sentence("no_such_webhook"))
        return destination


class WebhookList(Endpoint[Destinations], at="/api/webhook/list"):
    @needs("system:webhook:list", name="listWebhooks")
    async def on_get(self, context: RequestContext) -> Webhooks:
        """List the destinations of events about rights."""
        async with self.part.database.snapshot() as connection:
            stored = await store_destinations.all_stored(connection)
        items = []
        for each in self.part.destinations.values():
            of = stored.get(each.name) or StoredDestination(each.name)
            items.append(
                Webhook(
                    name=each.name,
                    kinds=list(each.kinds),
                    include=list(each.include),
                    lag=round(of.lag, 1),
                    sent=of.sent,
                    missed=of.missed,
                    dead_letters=of.dead_letters,
                    failures=of.failures,
                    **stated_as("fault", STORED_FAULTS.read(of.reason)),
                    success_time=None if of.success_time is None else moment(of.success_time),
                    stop_time=None if of.stop_time is None else moment(of.stop_time),
                )
            )
        return Webhooks(items)


class WebhookDeadLetterList(Endpoint[Destinations], at="/api/webhook/{name}/dead-letters"):
    @needs("system:webhook:list", name="listWebhookDeadLetters", refuses=[NotFound])
    async def on_get(self, context: RequestContext, name: _Name) -> WebhookDeadLetters:
        """List the newest events that a destination has not accepted."""
        destination = self.part.named(name)
        async with self.part.database.snapshot() as connection:
            letters = await store_destinations.dead_letters(connection, destination.name, MOST_SHOWN)
        return WebhookDeadLetters(
            [
                WebhookDeadLetter(
                    id=message_id_of(letter.event_id),
                    kind=letter.kind,
                    event_time=moment(letter.event_time),
                    dead_time=moment(letter.dead_time),
                    **stated_as("reason", STORED_FAULTS.read(letter.reason)),
                )
                for letter in letters
            ]
        )


class WebhookTest(Endpoint[Destinations], at="/api/webhook/{name}/test"):
    @needs("system:webhook:test", name="runWebhookTest", refuses=[NotFound])
    @writes(
        "send a test event",
        "QUERY",
        keeps="response",
        refuses_keys="a repeated request sends another test event",
    )
    async def on_post(self, context: RequestContext, name: _Name) -> WebhookTestResult:
        """Send an event of the type `test` to a destination at once."""
        destination = self.part.named(name)
        try:
            await send_test(destination)
        except PostFault as refused:
            return WebhookTestResult(accepted=False, **stated_as("fault", refused.stated))
        return WebhookTestResult(accepted=True, **stated_as("fault", None))


class WebhookReplays(Endpoint[Destinations], at="/api/webhook/{name}/replay"):
    @needs("system:webhook:replay", name="runWebhookReplay", refuses=[NotFound])
    @writes(
        "send events again",
        "UPDATE",
        example={"from": "2026-11-30T00:00:00Z"},
        refuses_keys="a repeated request begins again",
    )
    async def on_post(self, context: RequestContext, body: WebhookReplayBody, name: _Name) -> WebhookReplay:
        """Send a destination the events from a time on again, in order, with their ids.

        Events that wait follow them. With a later time than that of the next event, none is sent again. A
        stopped destination gets events from now on.
        """
        destination = self.part.named(name)
        async with self.part.database.transaction() as connection:
            number = await store_destinations.replay(connection, destination.name, body.since)
        if number is None:
            raise NotFound(sentence("webhook_not_started"))
        return WebhookReplay(number)


def add_routes(routes: Routes, container: Any) -> None:
    """Register the endpoints, made of the parts of ``container``."""
    destinations = Destinations(container.stores.database, container.settings)
    for endpoint in (WebhookList, WebhookDeadLetterList, WebhookTest, WebhookReplays):
        routes.serve(endpoint(destinations))
