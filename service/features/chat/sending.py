"""The outbox of a chat: notices are written in their transaction, and a job posts them."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from time import monotonic
from typing import Any, Final
from uuid import uuid4

import structlog

from service.features.chat import store
from service.features.chat.bodies import body_of, message_of
from service.features.chat.sentences import sentence
from service.features.chat.store import ChatMessage
from service.features.webhooks.posting import PostFault, post
from service.jobs.job import Job
from service.kernel.clock import now
from service.kernel.coded_sentences import Sentence
from service.kernel.languages import spelling_of
from service.records.database.transactions import Connection, Database
from service.settings import ChatDestination, Settings

LOOK_EVERY: Final = 5.0
"""Seconds between two polls of the outbox."""
_RUN_FOR: Final = 60.0  # seconds of a run in which it begins further messages
_AGREED: Final = 30.0  # seconds that a claim outlasts the longest attempt
_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Chats:
    """Writes notices to the outbox, for each destination that has their kind."""

    settings: Settings

    @property
    def language(self) -> str:
        """The language of the messages."""
        return spelling_of(self.settings.mail.language)

    def texts(self, kind: str) -> bool:
        """Return whether a destination has the kind."""
        return any(kind in each.kinds for each in self.settings.chat.destinations)

    async def put(
        self, connection: Connection, kind: str, facts: Mapping[str, str], request: str | None
    ) -> None:
        """Write a notice, to be posted after the commit of ``connection``'s transaction."""
        for destination in self.settings.chat.destinations:
            if kind in destination.kinds and not await store.add(
                connection,
                message_id=new_message_id(),
                destination=destination.name,
                kind=kind,
                facts=facts,
                request=request,
            ):
                _log.warning("a chat message is dropped", destination=destination.name, kind=kind)


def new_message_id() -> str:
    """Return the id of a message, the same for each attempt."""
    return f"msg_{uuid4().hex}"


async def send_test(settings: Settings, destination: ChatDestination) -> None:
    """Post a test message at once; raises ``PostFault``."""
    message = message_of("test", {}, settings.server.public_url, spelling_of(settings.mail.language), None)
    await post(destination, new_message_id(), body_of(destination.format, "test", message, now()))


class Sending:
    """Posts waiting messages."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._destinations = {each.name: each for each in settings.chat.destinations}
        longest = max((each.timeout for each in self._destinations.values()), default=0.0)
        self._lease = timedelta(seconds=longest + _AGREED)
        self.within: Final = _RUN_FOR + 2 * self._lease.total_seconds()
        """The maximum duration of a run, in seconds."""

    @property
    def interval(self) -> float:
        """Seconds between two polls; without destinations only old messages are deleted."""
        return LOOK_EVERY if self._destinations else 3600.0

    async def run(self, database: Database) -> Sentence:
        """Post due messages, and return their numbers as text. Raises ``Unavailable``."""
        names = list(self._destinations)
        counts = {"sent": 0, "deferred": 0}
        async with database.transaction() as connection:
            await store.forget_ended(connection)
            given_up = await store.give_up(connection, names)
        begun = monotonic()
        while names and monotonic() - begun < _RUN_FOR:
            async with database.transaction() as connection:
                claimed = await store.claim(connection, names, self._lease)
            if claimed is None:
                break
            outcome = await self._sent(database, claimed)
            given_up += outcome == "given_up"
            if outcome in counts:
                counts[outcome] += 1
        return sentence("messages_sent", **counts, given_up=given_up)

    async def _sent(self, database: Database, claimed: ChatMessage) -> str:
        destination = self._destinations[claimed.destination]
        fault: PostFault | None = None
        try:
            message = message_of(
                claimed.kind,
                claimed.facts,
                self._settings.server.public_url,
                spelling_of(self._settings.mail.language),
                claimed.request,
            )
        except KeyError:
            fault = PostFault(sentence("undelivered_without_text"), final=True)
        else:
            body = body_of(destination.format, claimed.kind, message, claimed.create_time)
            try:
                await post(destination, claimed.message_id, body)
            except PostFault as refused:
                fault = refused
        async with database.transaction() as connection:
            if fault is None or fault.final:
                await store.end(connection, claimed, None if fault is None else fault.fault)
            else:
                await store.defer(connection, claimed, fault.fault, fault.after)
        if fault is None:
            return "sent"
        facts: dict[str, Any] = {
            "destination": claimed.destination,
            "kind": claimed.kind,
            "fault": fault.fault,
        }
        if fault.final:
            _log.warning("a chat message is given up", message=claimed.id, **facts)
            return "given_up"
        _log.info("a chat message is deferred", message=claimed.id, **facts)
        return "deferred"


def jobs(settings: Settings) -> tuple[Job, ...]:
    """Return the job that posts."""
    sending = Sending(settings)
    return (
        Job(
            "chat",
            "Post queued notices to chats, and delete finished ones after 7 days",
            sending.run,
            sending.interval,
            within=sending.within,
            pending=store.pending,
            after="mail",
        ),
    )
