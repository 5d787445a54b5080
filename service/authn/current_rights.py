"""The current rights of users who send no request themselves, from memory while nothing has changed.

This process keeps the database's values of a user with the *epoch* of the user's rights: see
``service.authn.key_callers``. Every change of the user (roles, names, status, a ban; a change of a role or of
a Button that the user holds) ends the epoch before the change is answered. Each question compares epochs in
one round trip to the session store, which all questions of the moment share. If they differ, the database is
read. So an answer is never by rights older than the last change that was answered before the question.

Roles that begin or expire by themselves end no epoch. So the kept values hold from the instant of the read
until the next instant at which they change, by the session store's clock, compared at each use.

The end of an epoch replaces the *epoch of all rights* in the same step. That epoch comes with each round
trip, including the guard's for the question itself. If it is unchanged since the last comparison of a user's
epoch, no epoch has ended since. The comparison would find the same, and is left out.
"""

import asyncio
import secrets
import time
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Final, TypeAlias

from service.errors import Unavailable
from service.kernel.assurance import NAMED
from service.kernel.clock import from_seconds
from service.kernel.codes import HeldCodes
from service.kernel.core_sentences import sentence
from service.kernel.identity import Caller
from service.keyspace import BANNED, Answer, SessionStore
from service.records import role_rights
from service.records.database.transactions import Database
from service.records.role_rights import ActiveUser

Who: TypeAlias = int | str
"""A user: by id, or by the name key (``kernel.names.name_key``)."""

MOST_USERS: Final = 10_000
"""Maximum number of users kept in a process; the oldest goes first."""
MOST_AGE: Final = 60.0
"""Seconds after which a user is read again, though no change was announced: one by hand announces nothing."""
_AT_ONCE: Final = 500  # users that are read in one statement


@dataclass(slots=True)
class _Entry:
    """Kept values of an active user, as of an epoch.

    ``all_rights`` is the epoch of all rights at a moment when ``epoch`` was current and the user was not
    banned. The values hold from ``since`` until before ``until``, in seconds since the epoch.
    """

    caller: Caller
    name_key: str
    epoch: bytes
    read_at: float
    since: float
    until: float
    all_rights: bytes | None

    def stands(self, answer: Answer) -> bool:
        """Return True if the kept values are current as of ``answer``, that of the store about the user."""
        if answer.value != self.epoch or answer.marker == BANNED:
            return False
        self.all_rights = answer.all_rights
        return True


class CurrentRights:
    """Finds users able to log in, with the rights that they have at that moment."""

    def __init__(self, database: Database, store: SessionStore) -> None:
        self._database = database
        self._store = store
        self._entries: dict[int, _Entry] = {}
        self._ids: dict[str, int] = {}
        self._held: dict[tuple[str, ...], HeldCodes] = {}
        self._waiting: dict[Who, asyncio.Future[Caller | None]] = {}
        self._reading: asyncio.Task[None] | None = None

    async def of(self, asked: Collection[Who], all_rights: bytes | None = None) -> dict[Who, Caller]:
        """Return those of the users who exist and are neither disabled nor banned.

        ``all_rights`` is the epoch of all rights, read after the question had arrived; None if it is not
        known. Raises ``Unavailable``.
        """
        callers: dict[Who, Caller] = {}
        doubtful: dict[Who, _Entry] = {}
        for who in asked:
            if (caller := self.remembered(who, all_rights)) is not None:
                callers[who] = caller
            elif (entry := self._entry(who)) is not None:
                doubtful[who] = entry
        if doubtful:
            answers = await self._store.check_all_rights(
                cached.caller.login_id for cached in doubtful.values()
            )
            for (who, entry), answer in zip(doubtful.items(), answers, strict=True):
                if entry.stands(answer):
                    callers[who] = entry.caller
        missing = [who for who in asked if who not in callers]
        if missing:
            read = await asyncio.gather(*map(self._read, missing))
            callers.update((who, caller) for who, caller in zip(missing, read, strict=True) if caller)
        return callers

    def remembered(self, who: Who, all_rights: bytes | None) -> Caller | None:
        """Return a user whose rights are certainly current, without asking the store; else None.

        ``all_rights`` as in ``of``.
        """
        entry = self._entry(who) if all_rights is not None else None
        return None if entry is None or entry.all_rights != all_rights else entry.caller

    async def finish(self) -> None:
        """End the reading that still runs, if one does."""
        if self._reading is not None and self._reading.cancel():
            await asyncio.wait([self._reading])

    def _entry(self, who: Who) -> _Entry | None:
        user_id = self._ids.get(who) if isinstance(who, str) else who
        entry = None if user_id is None else self._entries.get(user_id)
        if entry is None or time.monotonic() - entry.read_at > MOST_AGE:
            return None
        if not entry.since <= self._store.synchronized.now() < entry.until:
            return None
        return entry if isinstance(who, int) or entry.name_key == who else None

    def _read(self, who: Who) -> asyncio.Future[Caller | None]:
        """Return the future of a user who is read from now on; questions of the moment are read together.

        A question never joins a read that has begun: it could be older than a change answered since.
        """
        loop = asyncio.get_running_loop()
        future = self._waiting.get(who)
        if future is None:
            future = self._waiting[who] = loop.create_future()
        if self._reading is None:
            self._reading = loop.create_task(self._read_all())
        return asyncio.shield(future)

    async def _read_all(self) -> None:
        """Read until no question waits."""
        batch: dict[Who, asyncio.Future[Caller | None]] = {}
        try:
            while self._waiting:
                batch = {who: self._waiting.pop(who) for who in list(self._waiting)[:_AT_ONCE]}
                callers = await self._loaded(batch)
                for who, future in batch.items():
                    future.set_result(callers.get(who))
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 - nobody may be left waiting
            refusal = error if isinstance(error, Exception) else Unavailable(sentence("worker_ending"))
            for future in (*batch.values(), *self._waiting.values()):
                if not future.done():
                    future.set_exception(refusal)
                    future.exception()  # waiting questions raise it; without any, the error is of no interest
            self._waiting.clear()
        finally:
            self._reading = None

    async def _loaded(self, asked: Iterable[Who]) -> dict[Who, Caller]:
        numbers = [who for who in asked if isinstance(who, int)]
        keys = [who for who in asked if isinstance(who, str)]
        names = await role_rights.known_users(self._database, numbers, keys)
        # Set before the users are read: a change that comes in between ends them.
        epochs, all_rights = await self._begun(list(names))
        since = self._store.synchronized.now()
        at = from_seconds(since)
        users = await role_rights.active_users(self._database, list(epochs), at) if epochs else []
        callers: dict[Who, Caller] = {}
        now = time.monotonic()
        for user in users:
            until = role_rights.seconds_until(user.changes_at)
            entry = _Entry(self._caller(user), user.name_key, epochs[user.id], now, since, until, all_rights)
            self._keep(user.id, entry)
            callers[user.id] = callers[user.name_key] = entry.caller
        return callers

    async def _begun(self, ids: list[int]) -> tuple[dict[int, bytes], bytes | None]:
        """Return the epochs of users who are not banned, by id, and that of all rights from before them."""
        answers = await self._store.check_all_rights(map(str, ids))
        epochs = {
            user_id: answer.value or await self._store.rights_epoch(str(user_id), secrets.token_hex(16))
            for user_id, answer in zip(ids, answers, strict=True)
            if answer.marker != BANNED
        }
        all_rights = answers[0].all_rights if answers else None
        if all_rights is None:
            await self._store.begin_all_rights(secrets.token_hex(16))
        return epochs, all_rights

    def _caller(self, user: ActiveUser) -> Caller:
        held = self._held.get(user.permissions)
        if held is None:
            if len(self._held) >= MOST_USERS:
                self._held.clear()
            # One object for equal rights, so that decisions cached by it are found.
            held = self._held[user.permissions] = HeldCodes(user.permissions)
        return Caller(
            user_id=user.id,
            login_id=str(user.id),
            user_name=user.user_name,
            nick_name=user.nick_name,
            device="",
            roles=user.roles,
            held=held,
            issued_at=0.0,
            kind=user.kind,
            service=user.service,
            authentication=NAMED if user.kind == "person" else None,
        )

    def _keep(self, user_id: int, entry: _Entry) -> None:
        self._forget(user_id)
        while len(self._entries) >= MOST_USERS:
            self._forget(next(iter(self._entries)))
        self._entries[user_id] = entry
        self._ids[entry.name_key] = user_id

    def _forget(self, user_id: int) -> None:
        known = self._entries.pop(user_id, None)
        if known is not None and self._ids.get(known.name_key) == user_id:
            del self._ids[known.name_key]
