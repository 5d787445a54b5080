"""The event streams of a worker: one task looks after all of them."""

import asyncio
import random
import secrets
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, Final

import structlog

from service.app.parts import Part
from service.errors import Conflict, Overloaded, RateLimited, RefreshRequired, Unavailable
from service.features.event_stream.account import AccountReader, State
from service.features.event_stream.messages import MEDIA_TYPE, last_id, malformed, message, resumed
from service.features.event_stream.places import Place, Places
from service.features.event_stream.rights import RightsReader
from service.features.event_stream.sentences import sentence
from service.features.event_stream.sessions import EndReason, StreamSession
from service.features.event_stream.stream import EventStream
from service.kernel.core_sentences import sentence as core_sentence
from service.kernel.feature import provided
from service.kernel.metrics import Sample
from service.web.content.streams import Stream
from service.web.messages.context import RequestContext
from service.web.messages.operation_metadata import Operation

LOOK_EVERY: Final = 1.0
"""Seconds between two looks at sessions and rights, of all streams of the worker together."""
LEASE: Final = 10.0
"""Seconds for which a stream counts if its worker was killed."""
RENEW_EVERY: Final = 3.0
LONGEST: Final = 3_600.0
"""Seconds after which a stream ends, and its client connects again: the guard then decides anew."""
MOST: Final = 2_000
"""Streams of a worker."""
_RETRY: Final = (1_000, 5_000)  # milliseconds, spread so that clients of a worker do not return together
_HEADERS: Final = {"X-Accel-Buffering": "no"}

_log = structlog.get_logger(__name__)


class _Open:
    """A stream with its session, and what its client knows."""

    def __init__(self, session: StreamSession, stream: EventStream, place: Place, places: Places) -> None:
        self.session = session
        self.stream = stream
        self.place = place
        self._places = places
        now = time.monotonic()
        self.renew_at = now + RENEW_EVERY
        self.until = now + LONGEST * random.uniform(0.9, 1.0)  # noqa: S311 - spreads load

    def tell(self, state: State, retry: int = 0) -> None:
        """Send all that the client does not know of ``state``."""
        messages = []
        for event in state.events:
            if event.position > self.place.position:
                self.place = self.place._replace(position=event.position)
                messages.append(self._message(event.kind, event.content))
        self.place = self.place._replace(position=max(self.place.position, state.position))
        if self.place.rights != state.rights.digest:
            self.place = self.place._replace(rights=state.rights.digest)
            messages.append(self._message("permissions", state.rights.shown))
        if self.place.sessions != state.sessions.digest:
            self.place = self.place._replace(sessions=state.sessions.digest)
            messages.append(self._message("sessions", state.sessions.shown))
        if retry:
            messages.insert(0, resumed(retry))
        if messages:
            self.stream.put(b"".join(messages))

    def begin(self, state: State, retry: int) -> None:
        """Send the first event of a new stream."""
        self.stream.put(self._message("connected", state.rights.shown, retry))

    def _message(self, event: str, data: Any, retry: int = 0) -> bytes:
        return message(event, data, self._places.seal(self.session.user_id, self.place), retry)


class EventStreams(Part):
    """Opens event streams, sends their events, and ends them with their sessions."""

    def __init__(self, container: Any) -> None:
        stores, sign_in = container.stores, container.sign_in
        self._store = stores.sessions
        self._most = container.settings.auth.event_streams
        self._operations: Sequence[Operation] = ()
        off = container.settings.features.off
        (own_events,) = provided("own-events", off).values() or (None,)
        rights = RightsReader(
            sign_in.current_rights, stores.database, container.policy.live, lambda: self._operations
        )
        self._reader = AccountReader(
            rights, stores.sessions, None if own_events is None else own_events(stores.database)
        )
        self._places = Places(container.settings.auth)
        self._open: dict[str, _Open] = {}
        self._some = asyncio.Event()
        self._leaving: set[asyncio.Task[None]] = set()
        self._stopping = False
        self.runs = self._run

    def about(self, operations: Sequence[Operation]) -> None:
        """Take the operations of the service: what a caller may call is part of the rights."""
        self._operations = operations

    def stops(self) -> None:
        """End all streams: clients connect to another worker."""
        self._stopping = True
        self._end_all()

    async def finish(self) -> None:
        """End what is left, and give back its leases."""
        self.stops()
        if self._leaving:
            await asyncio.wait(self._leaving, timeout=LOOK_EVERY)

    def samples(self) -> Iterator[Sample]:
        """Yield the number of open streams."""
        yield Sample("portcullis_event_streams", len(self._open), {})

    async def open(self, context: RequestContext) -> Stream:
        """Return the stream of the caller's session; it goes on after ``Last-Event-ID``.

        An id that was not made for the caller's account counts as none.

        Raises Conflict for an API key, BadRequest for a malformed id, RateLimited if the session has as many
        streams as it may, RefreshRequired if the session has ended, Unavailable.
        """
        caller, last = context.user, last_id(context)
        if caller.key_id is not None:
            raise Conflict(sentence("stream_without_session"), rule="kind_of_account")
        try:
            known = self._places.open(caller.user_id, last) if last else None
        except ValueError:
            raise malformed() from None
        self._require_room()
        session = StreamSession.of(caller, self._store.session_keys(caller.login_id, caller.device))
        answer = await self._store.checks.ask(session.keys)
        if session.end_of(answer) is not None:
            raise RefreshRequired
        name = secrets.token_hex(8)
        if not await self._join(session, name):
            refusal = sentence("too_many_event_streams", most=self._most)
            raise RateLimited(round(LEASE), "event_streams", refusal)
        try:
            state = await self._state_of(session, known)
            self._require_room()  # it may have stopped meanwhile
        except BaseException:
            self._leave(session, name)
            raise
        stream = EventStream(lambda: self._forget(name))
        place = known if known is not None and state.is_whole else state.place
        opened = self._open[name] = _Open(session, stream, place, self._places)
        retry = random.randint(*_RETRY)  # noqa: S311 - spreads load
        if place is known:
            opened.tell(state, retry)
        else:
            opened.begin(state, retry)
        self._some.set()
        return Stream(stream.chunks(), MEDIA_TYPE, _HEADERS, stop=stream.end)

    async def _state_of(self, session: StreamSession, known: Place | None) -> State:
        if (state := await self._reader.opening(session, known)) is None:
            raise RefreshRequired
        return state

    def _require_room(self) -> None:
        if self._stopping:
            raise Overloaded(core_sentence("service_stopping"), retry_after=round(LOOK_EVERY) + 1)
        if len(self._open) >= MOST:
            raise Overloaded(sentence("worker_has_many_streams"), retry_after=round(LEASE))

    async def _run(self) -> None:
        while True:
            await self._some.wait()
            began = time.monotonic()
            try:
                await self._look(dict(self._open))
            except Unavailable:
                # Nobody knows whether the sessions go on: clients connect again once the stores answer.
                self._end_all()
            except Exception:  # noqa: BLE001 - a look that ended for ever would leave all streams open
                _log.exception("event streams can't be looked after")
                self._end_all()
            if not self._open:
                self._some.clear()
                self._reader.forget()
            await asyncio.sleep(max(0.1, LOOK_EVERY - (time.monotonic() - began)))

    async def _look(self, streams: dict[str, _Open]) -> None:
        """End the streams whose sessions have ended, and report changes to the others."""
        if not streams:
            return
        answers = await asyncio.gather(
            *(self._store.checks.ask(each.session.keys) for each in streams.values())
        )
        living = {}
        for (name, each), answer in zip(streams.items(), answers, strict=True):
            if (reason := each.session.end_of(answer)) is not None:
                _end(each, reason)
            elif not each.stream.has_ended:
                living[name] = each
        since: dict[int, int] = {}
        for each in living.values():
            user_id, position = each.session.user_id, each.place.position
            since[user_id] = min(position, since.get(user_id, position))
        states = await self._reader.read(since, answers[0].all_rights)
        for each in living.values():
            if (state := states.get(each.session.user_id)) is None:
                _end(each, "account_unusable")
            else:
                each.tell(state)
        await self._renew(living)

    async def _renew(self, living: dict[str, _Open]) -> None:
        now = time.monotonic()
        for each in living.values():
            if now > each.until:
                each.stream.end()
        due = {name: each for name, each in living.items() if now >= each.renew_at}
        kept = await asyncio.gather(*(self._join(each.session, name) for name, each in due.items()))
        for (name, each), is_kept in zip(due.items(), kept, strict=True):
            each.renew_at = now + RENEW_EVERY
            if each.stream.has_ended:
                self._leave(each.session, name)  # the lease was renewed after the end
            elif not is_kept:
                each.stream.end()

    def _join(self, session: StreamSession, name: str) -> Any:
        return self._store.streams.join(session.login_id, session.device, name, most=self._most, lease=LEASE)

    def _end_all(self) -> None:
        for each in list(self._open.values()):
            each.stream.end()

    def _forget(self, name: str) -> None:
        if (gone := self._open.pop(name, None)) is not None:
            self._leave(gone.session, name)

    def _leave(self, session: StreamSession, name: str) -> None:
        """Give back the lease of a stream, soon; without the store, it expires."""
        task = asyncio.get_running_loop().create_task(self._left(session, name))
        self._leaving.add(task)
        task.add_done_callback(self._leaving.discard)

    async def _left(self, session: StreamSession, name: str) -> None:
        with suppress(Unavailable):
            await self._store.streams.leave(session.login_id, session.device, name)


def _end(each: _Open, reason: EndReason) -> None:
    each.stream.end(message("end", {"reason": reason}))


def part_in(container: Any) -> EventStreams:
    part: EventStreams = container.parts["event_stream"]
    return part
