"""``/api/chat``: the destinations of notices in a chat."""

from typing import Annotated, Any

from msgspec import Meta

from service.endpoints.record_endpoints import Endpoint
from service.errors import NotFound
from service.features.chat import store
from service.features.chat.sending import send_test
from service.features.chat.sentences import sentence
from service.features.chat.store import Standing
from service.features.webhooks.posting import STORED_FAULTS, PostFault
from service.records.database.transactions import Database
from service.settings import Settings
from service.settings.chats import ChatFormat, ChatKind
from service.web.messages.context import RequestContext
from service.web.messages.operation_metadata import needs, writes
from service.web.messages.schema import Schema, SentenceParams, stated_as
from service.web.requests.routes import Routes


class ChatDestination(Schema):
    """A destination, without its URL and its secret; the numbers are those of seven days.

    `fault` is the reason of the last failure, null if the last message was accepted.
    """

    name: Annotated[str, Meta(examples=["approvers"])]
    format: ChatFormat
    kinds: list[ChatKind]
    waiting: Annotated[int, Meta(ge=0)]
    sent: Annotated[int, Meta(ge=0)]
    given_up: Annotated[int, Meta(ge=0)]
    fault: Annotated[str, Meta(examples=["the receiver responds with 404"])] | None
    fault_code: Annotated[str, Meta(examples=["receiver_responds"])] | None
    fault_params: SentenceParams | None


class ChatDestinations(Schema):
    """The destinations of the settings, in their order."""

    items: list[ChatDestination]


class Chat:
    """The parts of the endpoints."""

    def __init__(self, database: Database, settings: Settings) -> None:
        self.database = database
        self.settings = settings


class ChatList(Endpoint[Chat], at="/api/chat/list"):
    @needs("system:chat:list", name="listChatDestinations")
    async def on_get(self, context: RequestContext) -> ChatDestinations:
        """List the destinations of notices in a chat."""
        async with self.part.database.snapshot() as connection:
            standings = await store.standings(connection)
        items = []
        for each in self.part.settings.chat.destinations:
            of = standings.get(each.name, Standing(each.name, 0, 0, 0, 0.0, None))
            items.append(
                ChatDestination(
                    name=each.name,
                    format=each.format,
                    kinds=list(each.kinds),
                    waiting=of.waiting,
                    sent=of.sent,
                    given_up=of.given_up,
                    **stated_as("fault", STORED_FAULTS.read(of.fault)),
                )
            )
        return ChatDestinations(items)


class ChatTestResult(Schema):
    """The outcome of a test message; `fault` is the reason if the receiver did not accept it, else null."""

    accepted: bool
    fault: Annotated[str, Meta(examples=["the receiver responds with 404"])] | None
    fault_code: Annotated[str, Meta(examples=["receiver_responds"])] | None
    fault_params: SentenceParams | None


class ChatTest(Endpoint[Chat], at="/api/chat/{name}/test"):
    @needs("system:chat:test", name="runChatTest", refuses=[NotFound])
    @writes(
        "send a test message",
        "QUERY",
        keeps="response",
        refuses_keys="a repeated request posts another test message",
    )
    async def on_post(
        self, context: RequestContext, name: Annotated[str, Meta(examples=["approvers"])]
    ) -> ChatTestResult:
        """Post a test message to a destination at once, without the outbox."""
        for destination in self.part.settings.chat.destinations:
            if destination.name == name:
                try:
                    await send_test(self.part.settings, destination)
                except PostFault as refused:
                    return ChatTestResult(accepted=False, **stated_as("fault", refused.stated))
                return ChatTestResult(accepted=True, **stated_as("fault", None))
        raise NotFound(sentence("no_such_destination"))


def add_routes(routes: Routes, container: Any) -> None:
    """Register the endpoints, made of the parts of ``container``."""
    chat = Chat(container.stores.database, container.settings)
    routes.serve(ChatList(chat))
    routes.serve(ChatTest(chat))
