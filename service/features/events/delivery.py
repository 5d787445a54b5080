"""Send events to one destination, in order, while this worker holds its lease."""

import asyncio
import secrets
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from time import monotonic
from typing import Any, Final, TypeAlias
from uuid import UUID

import msgspec
import structlog

from service.errors import Unavailable
from service.features.events import store, store_destinations
from service.features.events.store import RightsEvent
from service.features.events.store_destinations import StoredDestination
from service.features.webhooks.posting import Post, PostFault, posting
from service.kernel.clock import rfc3339
from service.kernel.webhooks import GONE
from service.records.database.transactions import Database
from service.settings import EventDestination

LOOK_EVERY: Final = 5.0
"""Seconds between two looks of a worker without the lease, because the leaseholder may be gone."""
POLL_EVERY: Final = 1.0
"""Seconds between two looks for new events."""
BATCH: Final = 200
"""Events read at once, and sent one by one."""
SAVE_EVERY: Final = 1.0
"""Seconds of sending after which the position is stored."""
FIRST_RETRY: Final = 5.0
"""Seconds before the second attempt; each further wait is twice as long, with jitter."""
LONGEST_RETRY: Final = 900.0
LONGEST_ASKED: Final = 3_600.0
"""Seconds of a ``Retry-After`` that are honoured."""
REFUSED_AFTER: Final = 3
"""Failures of an event from which on a refusal makes it a dead letter."""
DEAD_AFTER: Final = 86_400.0
"""Seconds of failures of any kind after which an event is a dead letter."""
REFUSALS: Final = (400, 413, 415, 422)
"""Statuses by which a receiver refuses the event itself."""
_LEASE_MARGIN: Final = 15.0  # seconds beyond two attempts

_log = structlog.get_logger(__name__)


def message_id(event: RightsEvent) -> str:
    """Return the id of an event's message: the same for each attempt, each replay and each destination."""
    return message_id_of(event.event_id)


def message_id_of(event_id: UUID) -> str:
    """Return the same for the id of an event."""
    return f"msg_{event_id.hex}"


def body_of(event: RightsEvent, person: Mapping[str, Any] | None, destination: EventDestination) -> bytes:
    """Return the JSON of an event; ``person`` are stored values of the user, None for a deleted user."""
    data: dict[str, Any] = {} if event.user_id is None else {"userId": event.user_id}
    if event.user_id is not None and destination.include:
        known = person or {}
        data["user"] = {_MEMBERS[name]: known.get(name) for name in destination.include}
    return msgspec.json.encode(
        {"type": event.kind, "timestamp": rfc3339(event.event_time), "data": data | event.data}
    )


Persons: TypeAlias = Mapping[int, Mapping[str, Any]]
"""Stored values of users, by id."""
_MEMBERS: Final = {"user_name": "userName", "nick_name": "nickName", "email": "email"}


def backoff(failures: int) -> float:
    """Return the seconds to wait after a failed attempt after ``failures`` others; half of it is random."""
    whole = min(LONGEST_RETRY, FIRST_RETRY * 2.0 ** min(failures, 20))
    return whole * (0.5 + secrets.randbelow(500) / 1000)


class TakenOver(Exception):  # noqa: N818 - an outcome
    """Another worker has the lease, or a replay has changed the position."""


class Delivery:
    """Sends to one destination. A lease in the database selects one worker of all nodes.

    The position is stored after the receiver has accepted events. If a worker is killed between these two
    steps, the next worker sends them again, with the same ids.
    """

    def __init__(self, destination: EventDestination, database: Database, worker: str) -> None:
        self.destination: Final = destination
        self.counts: Final = {"sent": 0, "failed": 0, "dead": 0}
        """Numbers of accepted events, failed attempts and dead letters, since the start of the worker."""
        self.state: StoredDestination | None = None
        """State at the last look; None before the first one."""
        self.worker = worker
        self._database = database
        self._lease = 2 * destination.timeout + _LEASE_MARGIN
        self._leased_until = 0.0
        self._fails = False  # as logged

    async def run(self) -> None:
        """Look and send until cancelled; raises nothing else."""
        while True:
            try:
                wait = await self.step()
            except (Unavailable, TakenOver):
                wait = LOOK_EVERY
            except Exception:  # noqa: BLE001 - an unexpected error must not end the delivery
                _log.exception("the delivery of events failed", destination=self.destination.name)
                wait = LOOK_EVERY
            await asyncio.sleep(wait * (0.75 + secrets.randbelow(500) / 1000))

    async def step(self) -> float:
        """Send a batch, if this worker may; return the seconds to wait. Raises Unavailable and TakenOver."""
        async with self._database.transaction() as connection:
            await store.order(connection)
        begun = monotonic()
        async with self._database.transaction() as connection:
            name = self.destination.name
            state = await store_destinations.lease(connection, name, self.worker, self._lease)
            if state is None:
                self.state = (await store_destinations.all_stored(connection)).get(name)
                return LOOK_EVERY
            self.state = state
            if state.stop_time is not None:
                return LOOK_EVERY
            if state.due_in is not None and state.due_in > 0:
                return min(state.due_in, LOOK_EVERY)
            events = await store.after(connection, state.position, BATCH)
            concerned = [event.user_id for event in events if event.user_id is not None]
            include = self.destination.include and concerned
            persons = await store_destinations.persons(connection, concerned) if include else {}
        self._leased_until = begun + (state.leased_for or 0.0)
        if not events:
            return POLL_EVERY
        await self._send(state, events, persons)
        return 0.0 if len(events) == BATCH else POLL_EVERY

    async def close(self) -> None:
        """Release the lease."""
        with suppress(Unavailable):
            async with self._database.transaction() as connection:
                await store_destinations.release(connection, self.destination.name, self.worker)

    async def _send(self, state: StoredDestination, events: Sequence[RightsEvent], persons: Persons) -> None:
        """Send ``events`` in order, and store the progress; end at the first that fails."""
        progress = _Progress(state)
        event = events[0]
        try:
            async with AsyncExitStack() as opened:
                post: Post | None = None
                for event in events:
                    if event.kind in self.destination.kinds:
                        if post is None:
                            post = await opened.enter_async_context(posting(self.destination))
                        await self._post(post, event, persons)
                        progress.accepted.append(event.position)
                    progress.position = event.position
                    if monotonic() - progress.begun > SAVE_EVERY:
                        await self._save(progress)
        except PostFault as fault:
            await self._save(progress)
            await self._note(progress.state, event, fault)
            return
        await self._save(progress)

    async def _post(self, post: Post, event: RightsEvent, persons: Persons) -> None:
        if self._leased_until - monotonic() < self.destination.timeout + _LEASE_MARGIN / 2:
            begun = monotonic()
            async with self._database.transaction() as connection:
                name = self.destination.name
                if not await store_destinations.renew(connection, name, self.worker, self._lease):
                    raise TakenOver
            self._leased_until = begun + self._lease
        person = None if event.user_id is None else persons.get(event.user_id)
        await post(message_id(event), body_of(event, person, self.destination))

    async def _save(self, progress: "_Progress") -> None:
        """Store the position; raises TakenOver."""
        state, number = progress.state, len(progress.accepted)
        if progress.position == state.position:
            return
        async with self._database.transaction() as connection:
            if not await store_destinations.advance(
                connection, state, self.worker, to=progress.position, sent=number
            ):
                raise TakenOver
            if state.dead_letters:
                await store_destinations.accept(connection, state.name, progress.accepted)
        self.counts["sent"] += number
        progress.state = msgspec.structs.replace(
            state, position=progress.position, failures=0, failing_for=None
        )
        progress.accepted.clear()
        progress.begun = monotonic()
        if number and self._fails:
            self._fails = False
            _log.info("the delivery of events works again", destination=state.name)

    async def _note(self, state: StoredDestination, event: RightsEvent, fault: PostFault) -> None:
        """Record a failed attempt for ``event``, or make it a dead letter. Raises TakenOver.

        A receiver that is gone stops the destination.
        """
        refused = fault.status in REFUSALS and state.failures + 1 >= REFUSED_AFTER
        self.counts["failed"] += 1
        is_gone = fault.status == GONE
        if refused or (not is_gone and (state.failing_for or 0.0) > DEAD_AFTER):
            async with self._database.transaction() as connection:
                moved = await store_destinations.advance(
                    connection, state, self.worker, to=event.position, sent=0
                )
                if not moved:
                    raise TakenOver
                await store_destinations.bury(connection, state.name, event, fault.fault)
            self.counts["dead"] += 1
            _log.error(
                "an event is a dead letter", destination=state.name, id=message_id(event), reason=fault.fault
            )
            return
        wait = None if is_gone else max(backoff(state.failures), min(fault.after or 0.0, LONGEST_ASKED))
        async with self._database.transaction() as connection:
            if not await store_destinations.fail(
                connection, state, self.worker, reason=fault.fault, again_in=wait
            ):
                raise TakenOver
        if wait is None:
            self._fails = True
            _log.error("a destination of events is stopped", destination=state.name, reason=fault.fault)
        elif not self._fails or state.reason != fault.fault:
            self._fails = True
            _log.warning(
                "the delivery of events fails",
                destination=state.name,
                reason=fault.fault,
                again_in=round(wait, 1),
            )


class _Progress:
    """Events that were accepted since ``state`` was stored, and the position after the last one."""

    def __init__(self, state: StoredDestination) -> None:
        self.state = state
        self.position = state.position
        self.accepted: list[int] = []
        self.begun = monotonic()
