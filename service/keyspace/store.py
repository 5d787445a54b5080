"""The session store: the interface that the rest of the service uses."""

import asyncio
import time
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Final

import msgspec

from service.kernel.closable import Closable
from service.kernel.synchronized import SynchronizedClock
from service.kernel.tracing import current_span
from service.keyspace import keys, values
from service.keyspace.checks import Answer, KeyPair
from service.keyspace.confirming import Unconfirmed
from service.keyspace.counters import Counters
from service.keyspace.deliveries import Deliveries
from service.keyspace.following import Followers, RevocationList
from service.keyspace.inspection import Probe
from service.keyspace.log_stream import LogStream
from service.keyspace.online import Online
from service.keyspace.pipeline import PipelinedClient
from service.keyspace.restored import FormerSessions
from service.keyspace.revision_key import RevisionKey
from service.keyspace.scripts import Scripts
from service.keyspace.servers import open_servers
from service.keyspace.streams import Streams
from service.settings import Auth
from service.settings import Redis as RedisSettings

MOST_ANSWERS: Final = 5
"""Maximum number of answers to a challenge."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Challenges:
    """Keeps challenges by their names, which callers must have made hard to guess.

    All raise ``Unavailable``.
    """

    client: PipelinedClient
    scripts: Scripts

    def _key(self, name: str) -> str:
        return self.scripts.names.of(keys.challenge(name))

    async def keep(self, name: str, facts: bytes, life: int) -> None:
        """Keep a challenge for ``life`` seconds."""
        await self.scripts.run("challenge_set", [self._key(name)], facts, 1000 * life)

    async def answered(self, name: str) -> bytes | None:
        """Count an answer, and return the facts of the challenge; None for one that is unknown or has ended.

        It ends when it is answered more than ``MOST_ANSWERS`` times, at once or one after the other.
        """
        facts: bytes | None = await self.scripts.run("challenge_try", [self._key(name)], MOST_ANSWERS)
        return facts

    async def spend(self, name: str) -> bool:
        """End a challenge after a right answer; False if it has ended: then another answer was first."""
        return bool(await self.client.remove(self._key(name)))


MARK_BATCH = 500
SHORT_MARK = 60_000
HAND_OUT = 1.0
"""Seconds, beyond the longest wait for the store, that a request may take to deliver leased tokens."""
_MARGIN = 60

_facts = msgspec.json.Encoder()
_session = msgspec.json.Decoder(values.DeviceSession)
_note = msgspec.json.Decoder(values.BanNote)


class Seen(bytes):
    """The text of a deny marker; and the time of the store, and the device of a refresh id.

    The device is empty if the refresh id is that of no session: it is spent, or its session has ended.
    """

    now = 0
    device = ""


class SessionStore(Closable):
    """Device sessions, refresh ids, deny markers and the online list.

    Every method raises ``Unavailable`` if the store does not answer in time, and none retries: the caller's
    request fails as a whole. ``login_id``, ``device`` and ``rid`` become parts of keys: callers must have
    checked that ``login_id`` is decimal and the others match their grammars.
    """

    def __init__(self, settings: RedisSettings, auth: Auth) -> None:
        self._servers = servers = open_servers(settings)
        self._client, self.checks = servers.client, servers.checks
        """Reads what ``check`` does, by ``session_keys`` and for the span of a request."""
        self._names = servers.names
        self._timeout = settings.timeout
        self._auth = auth
        self._scripts = Scripts(self._client, settings.timeout, settings.wait_replicas, servers.names)
        servers.uses(self._scripts)
        # A marker outlives every token that it must stop, by a margin for clocks that differ.
        self._mark_life = 1000 * (max(auth.access_timeout, auth.refresh_timeout) + _MARGIN)
        self.synchronized = SynchronizedClock()
        self._looked_at: dict[str, int] = {}
        self.found_ahead: float | None = None
        """The latest instant that scripts have found ahead of both clocks, in seconds since the epoch.

        None if they have found none in the last hour.
        """
        self.deliveries = Deliveries(self._client, self._scripts)
        self.streams = Streams(self._client, self._scripts)
        self.online = Online(self._client, self._scripts)
        self.counters = Counters(servers, self._scripts, settings.timeout)
        self.challenges = Challenges(self._client, self._scripts)
        self.log = LogStream(self._scripts, self._client.is_up)
        self.revocations = RevocationList(self._scripts, self.clock)
        self.followers = Followers(self._client)
        self.probe = Probe(servers, settings.timeout)
        self.former_sessions = FormerSessions(servers, settings.timeout)
        self.revision_key = RevisionKey(self._client, self._scripts)
        self.calls = servers.calls
        """Yields the connections, with labels of their use."""

    def check(self, login_id: str, device: str) -> asyncio.Future[Answer]:
        """Return a future of the deny marker of the user, the device session, and the values of all checks.

        All requests of the moment share one round trip.
        """
        return self.checks.ask(self.session_keys(login_id, device), current_span())

    def check_rights(self, login_id: str) -> asyncio.Future[Answer]:
        """Return a future of the deny marker, the epoch of the user's rights, and the values of all checks.

        In the same round trip as ``check``.
        """
        return self.checks.ask(self.rights_keys(login_id), current_span())

    def rights_keys(self, login_id: str) -> KeyPair:
        """Return the keys that ``check_rights`` reads; they stay the same."""
        return self.checks.pair(keys.deny(login_id), keys.rights(login_id))

    def session_keys(self, login_id: str, device: str) -> KeyPair:
        """Return the keys that ``check`` reads; they stay the same."""
        return self.checks.pair(keys.deny(login_id), keys.device(login_id, device))

    def refresh_id(self, login_id: str, rid: str) -> str:
        """Return the random text ``rid`` in the form that the refresh ids of a user have in this store."""
        return self._names.refresh_id(login_id, rid)

    async def check_all_rights(self, login_ids: Iterable[str]) -> list[Answer]:
        """Return for each user what ``check_rights`` does, in one round trip, which others share."""
        return await asyncio.gather(*map(self.check_rights, login_ids))

    async def rights_epoch(self, login_id: str, new: str) -> bytes:
        """Return the epoch of the user's rights; ``new``, a random text, becomes the epoch without one.

        Rights that are read after this call are at least as new as the epoch, until it ends.
        """
        key = self._names.of(keys.rights(login_id))
        epoch = await self._client.set(key, new, nx=True, get=True, ex=keys.EPOCH_LIFE)
        return epoch if isinstance(epoch, bytes) else new.encode()

    async def begin_all_rights(self, new: str) -> None:
        """Make ``new``, a random text, the epoch of all rights if none exists."""
        names = (self._names.of(keys.ALL_RIGHTS, tag) for tag in self._names.tags)
        await asyncio.gather(*(self._client.set(name, new, nx=True, ex=keys.EPOCH_LIFE) for name in names))

    async def clock(self) -> int:
        """Return the store's time in milliseconds, and synchronize ``synchronized`` with it.

        On a cluster it is the latest time of its servers.
        """
        if not self._names.apart:
            return (await self._look("")).now
        began = self.synchronized.begin()
        tags = [server.tag for server in await self._servers.primaries() if server.tag is not None]
        answers = await asyncio.gather(*map(self._moment, tags), return_exceptions=True)
        read = sorted(answer for answer in answers if isinstance(answer, tuple))
        if not read:
            raise next(answer for answer in answers if isinstance(answer, BaseException))
        for now, _ in read:
            self.synchronized.observe(now / 1000, began)
        ahead = max(ahead for _, ahead in read)
        self.found_ahead = ahead / 1000 if ahead else None
        return read[-1][0]

    async def _moment(self, tag: str) -> tuple[int, int]:
        asked_at, before = round(1000 * time.time()), self._looked_at.get(tag, 0)
        name = self._names.of(keys.AHEAD, tag)
        now, ahead = await self._scripts.run("moment", [name], asked_at, before)
        self._looked_at[tag] = now
        return now, ahead

    async def marker_of(self, login_id: str, rid: str = "") -> Seen:
        """Return the text of the user's deny marker, empty for none; synchronize the clock as ``clock`` does.

        Each mark gives another text. ``open_session`` and ``rotate_session`` compare it: what was read of the
        user after this call is current as long as it stands. With ``rid``, a refresh id, it has the device
        of its session: on a cluster rotating it needs no further round trip then.
        """
        return await self._look(login_id, rid)

    async def _look(self, login_id: str, rid: str = "") -> Seen:
        began = self.synchronized.begin()
        rid = rid and self._names.refresh_id(login_id, rid)
        names = [keys.deny(login_id)] if login_id else []
        names += [keys.refresh(rid)] if rid else []
        before = self._looked_at.get("", 0)
        now, ahead, marker, owner = await self._scripts.of_sessions("look", names, login_id, before, rid)
        self.synchronized.observe(now / 1000, began)
        if not self._names.apart:
            self._looked_at[""] = now
            self.found_ahead = ahead / 1000 if ahead else None
        seen = Seen(marker)
        seen.now, seen.device = now, owner.decode().partition(":")[2]
        return seen

    def _deadline(self) -> int:
        """Return the store's time (ms) at which a command sent now has timed out here; 0 if unknown."""
        if (offset := self.synchronized.since_boot) is None:
            return 0
        return round(1000 * (offset + self.synchronized.begin() + self._timeout))

    async def open_session(
        self, login_id: str, device: str, rid: str, facts: values.SessionFacts, *, seen: bytes
    ) -> values.Opening:
        """Open a device session with the refresh id ``rid``; end the ones that it replaces or evicts.

        ``seen`` is what ``marker_of`` returned before the user was read: if the user was marked since,
        nothing is opened (``stale``).
        """
        auth = self._auth
        most = auth.max_devices if auth.concurrent_login else 1
        lives = (1000 * auth.refresh_timeout, 1000 * auth.session_max_age)
        rid = self._names.refresh_id(login_id, rid)
        names = [
            keys.deny(login_id),
            keys.devices(login_id),
            keys.device(login_id, device),
            keys.refresh(rid),
        ]
        outcome, *rest = await self._scripts.of_sessions(
            "open", names, login_id, device, rid, _facts.encode(facts), *lives, most, seen
        )
        match outcome:
            case b"opened":
                issued, ends, sid, *ended = rest
                return values.Opening("opened", issued, ends, sid.decode(), tuple(map(bytes.decode, ended)))
            case b"banned":
                return values.Opening("banned", until=values.ban_end(rest[0]))
            case _:
                return values.Opening("stale")

    async def rotate_session(
        self,
        login_id: str,
        rid: str,
        next_rid: str,
        *,
        user_name: str,
        nick_name: str,
        seen: bytes,
        step_up: values.StepUp | None = None,
    ) -> values.Rotation:
        """Replace ``rid`` by ``next_rid`` and update the user's names; ``seen`` as for opening.

        A ``step_up`` names the session in place of ``rid``, which is empty then, and gives it a new proof.

        A caller that gets tokens must confirm or release their lease with ``deliveries``. After
        ``Unavailable`` the rotation may have happened or not; repeating the same call finds out. After
        ``Unconfirmed`` it has happened: ``answer`` is the rotation, and its tokens must not be returned to
        clients.
        """
        auth = self._auth
        lives = (1000 * auth.refresh_timeout, 1000 * auth.session_max_age)
        windows = (1000 * auth.refresh_race_window, 1000 * auth.refresh_grace)
        changes: dict[str, object] = {"user_name": user_name, "nick_name": nick_name}
        of_session: tuple[str | int, ...] = ()
        if step_up is not None:
            changes |= {"acr": step_up.acr, "amr": step_up.amr}
            of_session = (step_up.device, round(1000 * step_up.opened_by), step_up.rests_on)
        lease = self._timeout + HAND_OUT
        limits = (self._mark_life, self._deadline(), round(1000 * lease))
        by = time.monotonic() + lease
        sent = _facts.encode(changes)
        rid, next_rid = (
            rid and self._names.refresh_id(login_id, rid),
            self._names.refresh_id(login_id, next_rid),
        )
        arguments = (login_id, rid, next_rid, sent, *lives, *windows, seen, *limits, *of_session)
        names = [keys.deny(login_id), keys.devices(login_id), keys.refresh(next_rid)]
        names += [keys.refresh(rid), keys.spent(rid)] if rid else []
        if step_up is not None:
            names.append(keys.device(login_id, step_up.device))
        elif self._names.apart and isinstance(seen, Seen) and seen.device:
            names += [keys.device(login_id, seen.device), keys.undelivered(login_id, seen.device, seen.now)]
        try:
            answer = await self._scripts.of_sessions("rotate", names, *arguments, rights=False)
        except Unconfirmed as error:
            raise Unconfirmed(values.rotation_of(login_id, error.answer, by)) from None
        return values.rotation_of(login_id, answer, by)

    async def close_session(
        self, login_id: str, device: str, *, opened_by: float = 0.0, sign_in: str = ""
    ) -> bool:
        """End one device session and mark the user; return False if the session does not exist.

        With ``opened_by`` (seconds since the epoch) a session that was opened later is not ended. With
        ``sign_in`` only a session opened by that sign-in at a provider is ended.
        """
        before = round(1000 * opened_by)
        return bool(await self._close(login_id, before, device, "", sign_in))

    async def close_sessions(self, login_id: str, *, keep: str = "", opened_by: float = 0.0) -> int:
        """End all device sessions but the one on ``keep``, mark the user, and return the number ended.

        With ``opened_by`` (seconds since the epoch) a session opened later is ended too, even on ``keep``.
        """
        before = round(1000 * opened_by)
        return len(await self._close(login_id, before, "", keep, ""))

    async def _close(self, login_id: str, before: int, device: str, keep: str, sign_in: str) -> list[bytes]:
        # On a cluster this ends no epoch of all rights: rights stay unchanged, and other servers may be away.
        names = [keys.deny(login_id), keys.devices(login_id), keys.rights(login_id)]
        names += [keys.device(login_id, device)] if device else []
        arguments = (login_id, self._mark_life, before, device, keep, sign_in)
        ended: list[bytes] = await self._scripts.of_sessions("close", names, *arguments, rights=False)
        return ended

    async def id_token_of(self, login_id: str, device: str) -> str | None:
        """Return the ID token of the sign-in by which a live session was opened; None without one."""
        kept = await self._client.get(self._scripts.names.of(keys.id_token(login_id, device)))
        return kept.decode() if isinstance(kept, bytes) else kept

    async def sessions(self, login_id: str) -> dict[str, values.DeviceSession]:
        """Return the live sessions of a user, by device."""
        reply = await self._scripts.of_sessions("sessions", [keys.devices(login_id)], login_id)
        texts = zip(reply[::2], reply[1::2], strict=True)
        return {device.decode(): _session.decode(text) for device, text in texts}

    async def count_sessions(self, login_ids: Iterable[str]) -> int:
        """Return the number of live sessions of the users together; asked in batches."""
        remaining = iter(login_ids)
        count = 0
        while batch := list(islice(remaining, MARK_BATCH)):
            names = [self._names.of(keys.devices(login_id)) for login_id in batch]
            if self._names.apart:
                runs = (self._scripts.run("count_sessions", [name]) for name in names)
                count += sum(await asyncio.gather(*runs))
            else:
                count += await self._scripts.run("count_sessions", names)
        return count

    async def mark(self, login_ids: Iterable[str]) -> int:
        """Set ``refresh:{now}`` for the users, in batches; return the number of users with a session.

        Call it after the change is committed. A ``banned`` marker stays, and no marker gets an earlier time.
        """
        remaining = iter(login_ids)
        online = 0
        while batch := list(islice(remaining, MARK_BATCH)):
            if self._servers.elsewhere is None:
                online += await self._mark(batch)
            else:
                online += sum(await asyncio.gather(*(self._mark([login_id]) for login_id in batch)))
                await self._servers.elsewhere.end_rights()
        return online

    async def _mark(self, login_ids: list[str]) -> int:
        names = [name(login_id) for login_id in login_ids for name in (keys.deny, keys.devices, keys.rights)]
        lives = (self._mark_life, SHORT_MARK)
        marked: int = await self._scripts.of_sessions("mark", names, *lives, *login_ids, rights=False)
        return marked

    async def ban(self, login_id: str, until: int | None, reason: str) -> int:
        """Copy a ban from the database, end all sessions and return their number.

        ``until`` is its end in milliseconds since the epoch, None for a ban without end.
        """
        names = [*_of_ban(login_id), keys.rights(login_id), keys.devices(login_id)]
        ends = -1 if until is None else until
        ended: int = await self._scripts.of_sessions("ban", names, login_id, ends, reason)
        return ended

    async def ban_of(self, login_id: str) -> values.Ban | None:
        """Return the ban of a user, or None."""
        reply = await self._scripts.of_sessions("ban_of", _of_ban(login_id), login_id)
        if not reply:
            return None
        ends, text = reply
        return values.Ban(values.ban_end(ends), _note.decode(text) if text else values.BanNote())

    async def unban(self, login_id: str, *, all_bans: bool = False) -> bool:
        """Clear a ban copied from the database, or any with ``all_bans``; True if there was one."""
        names = [*_of_ban(login_id), keys.rights(login_id)]
        return bool(await self._scripts.of_sessions("unban", names, login_id, int(all_bans)))

    async def follow_primary(self) -> None:
        """Follow the primaries, as Sentinel or the cluster names them, until cancelled."""
        await self._servers.follow()

    async def ping(self) -> None:
        """Return if the store answers."""
        await self._client.ping()

    async def close(self) -> None:
        """Disconnect from the store."""
        await self.checks.close()
        await self.deliveries.close()
        await self._servers.close()


def _of_ban(login_id: str) -> list[str]:
    return [keys.deny(login_id), keys.ban(login_id)]
