"""Callers with API keys: one round trip to the session store, rarely a query; and the last use of keys.

This process caches the data of a key and its account with the *epoch* of the account's rights. The epoch is a
random text at ``auth:rights:{login_id}`` in the session store. Every change of the account removes the epoch
before its commit, and again after the commit, before the answer. Changes are those of roles, names, keys,
status, a ban, and of a role or Button that the account holds. Each request compares the two epochs in the
round trip that tokens take too. If they differ, or there is none, the process sets an epoch first, then reads
the database and compares again. So a request never sees rights older than the last change answered before it.

Roles that begin or expire do not remove an epoch. Cached rights are valid from the instant of reading until
the next such change, by the session store's clock.
"""

import asyncio
import hmac
import secrets
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from hashlib import sha256
from typing import Final, NoReturn

import structlog

from service.authn.claims import ClientClaims
from service.authn.denials import banned
from service.authn.key_callers import KeyCaller, PersonalKeyUses
from service.authn.throttle import Throttle
from service.errors import AccountBanned, TokenExpired, TokenInvalid, Unavailable
from service.features.service_accounts import store_holders as api_keys
from service.features.service_accounts.form import ApiKey, parsed
from service.features.service_accounts.sentences import sentence
from service.features.service_accounts.store_holders import USE_EVERY, KeyHolder
from service.kernel.assurance import OF_PERSONAL_KEY
from service.kernel.clock import from_seconds
from service.kernel.codes import BY_KEY, BoundedCodes, Ceiling, HeldCodes, intersection
from service.kernel.identity import Caller, use_of_key
from service.kernel.origin import ORIGIN
from service.kernel.tracing import current_span
from service.keyspace import BANNED, Answer, KeyPair, SessionStore
from service.records import role_rights
from service.records.database.transactions import SINGLE_READS, Database
from service.records.role_rights import Rights

_MOST: Final = 10_000  # the number of keys whose last recorded use is cached
_log = structlog.get_logger(__name__)


class KeyUses:
    """Records the last use of each key at most once in ``USE_EVERY`` seconds, in the background.

    Several workers together write no more often: the database compares the time. A failed write is lost; the
    next use after that time is written.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._noted: dict[int, float] = {}
        self._waiting: set[int] = set()
        self._task: asyncio.Task[None] | None = None

    def note(self, key_id: int) -> None:
        """Record the use of a key; returns at once."""
        now = time.monotonic()
        if now - self._noted.get(key_id, -USE_EVERY) < USE_EVERY:
            return
        if len(self._noted) >= _MOST:
            self._noted.clear()
        self._noted[key_id] = now
        self._waiting.add(key_id)
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._write())

    async def finish(self) -> None:
        """Wait until the recorded uses are written or lost."""
        if self._task is not None:
            await self._task

    async def _write(self) -> None:
        try:
            while self._waiting:
                batch, self._waiting = self._waiting, set()
                async with self._database.transaction() as connection:
                    await api_keys.note_uses(connection, sorted(batch))
        except Unavailable:
            self._waiting.clear()
        except Exception:  # noqa: BLE001 - nobody waits for a note, and no request may fail for it
            self._waiting.clear()
            _log.exception("uses of API keys can't be noted")
        finally:
            self._task = None


MOST_KEYS: Final = 4096
"""The number of keys that a process caches; the oldest goes first."""
MOST_AGE: Final = 60.0
"""Seconds after which a key is read again without an announced change.

Manual changes in the database are not announced.
"""
_ATTEMPTS: Final = 5
_READERS: Final = SINGLE_READS - 1
"""The number of parallel key reads: requests with invented keys must not take all connections."""
_PATIENCE: Final = 2.0
"""Seconds that a read waits for other reads."""
_MOST_SCOPES: Final = 64  # cached token scopes of one key


class _Known:
    """The cached data of a key, as of an epoch, valid from ``since`` until before ``until``.

    In seconds since the Unix epoch; ``until`` comes from ``changes_at``, infinity for None. ``pair`` are the
    session store's keys by which it is checked. ``accepted`` is the result of the last check of the key
    itself, and holds until ``ends`` for the same ``answer`` of the store.
    """

    __slots__ = (
        "_within",
        "accepted",
        "caller",
        "changes_at",
        "ends",
        "epoch",
        "holder",
        "pair",
        "read_at",
        "since",
        "until",
    )

    def __init__(self, holder: KeyHolder, rights: Rights, epoch: bytes, since: float, pair: KeyPair) -> None:
        self.pair = pair
        self.accepted: KeyCaller | None = None
        self.read_at = time.monotonic()
        self.holder = holder
        self.epoch = epoch
        self.since = since
        self.changes_at = rights.changes_at
        self.until = role_rights.seconds_until(rights.changes_at)
        expiry = float("inf") if holder.expire_time is None else holder.expire_time.timestamp()
        self.ends = min(self.until, expiry)
        self.caller = _caller(holder, rights)
        self._within: dict[str, Caller] = {}

    def is_recent(self, now: float) -> bool:
        """Return true if the data is still valid, provided that no change is announced."""
        return time.monotonic() - self.read_at <= MOST_AGE and self.since <= now < self.until

    def within(self, scope: str) -> Caller:
        """Return the caller for a token with that scope; equal scopes share one caller."""
        caller = self._within.get(scope)
        if caller is None:
            if len(self._within) >= _MOST_SCOPES:
                self._within.clear()
            held = HeldCodes(intersection(self.caller.held.codes, scope.split()))
            caller = self._within[scope] = replace(self.caller, held=held)
        return caller

    def proves(self, key: ApiKey) -> bool:
        return hmac.compare_digest(self.holder.digest, key.digest_of(self.holder.kind))


class ApiKeyCallers:
    """See ``KeyCallers``."""

    def __init__(
        self,
        database: Database,
        store: SessionStore,
        throttle: Throttle,
        now: Callable[[], float] = time.time,
        personal: PersonalKeyUses | None = None,
    ) -> None:
        """``now`` returns the time by which keys expire, in seconds since the epoch.

        ``personal`` records the use of people's keys; without it they are refused as unknown.
        """
        self._database = database
        self._store = store
        self._throttle = throttle
        self._now = now
        self._uses = KeyUses(database)
        self._personal = personal
        self._known: dict[int, _Known] = {}
        self._proved: dict[bytes, _Known] = {}
        self._reading: dict[int, asyncio.Task[_Known | None]] = {}
        self._readers = asyncio.Semaphore(_READERS)

    async def of_key(self, text: str, *, counted: bool = True) -> KeyCaller:
        """Return the caller of the API key ``text``.

        Raises ``TokenInvalid`` (malformed, unknown, revoked or wrong, without a distinction),
        ``TokenExpired``, ``AccountBanned`` (also for disabled accounts) and ``Unavailable``. Raises
        ``RateLimited`` for an address with many wrong keys, unless they are not ``counted``.
        """
        sent = sha256(text.encode("utf-8", "surrogatepass")).digest()
        known = self._proved.get(sent)
        if known is not None and self._known.get(known.holder.key_id) is known:
            now = self._now()
            recent = time.monotonic() - known.read_at <= MOST_AGE and known.since <= now < known.ends
            if recent and (accepted := known.accepted) is not None:
                origin = ORIGIN.get()
                answer = await self._store.checks.ask(known.pair, None if origin is None else origin.span)
                # The same answer as at the last check of the whole leads to the same caller.
                if answer == accepted.answer and answer.value == known.epoch:
                    address = origin.address if counted and origin is not None else None
                    if self._personal is None or known.holder.kind == "service":
                        self._uses.note(known.holder.key_id)
                    else:
                        self._personal.note(known.holder.key_id, address)
                    return accepted
        key = parsed(text)
        if key is None:
            raise TokenInvalid
        address = _address() if counted else None
        known, answer = await self._current(key.key_id, key, address)
        if not known.proves(key):
            await self._refuse(address)
        admitted = known.accepted = await self._admitted(known, answer, known.caller, address)
        if len(self._proved) >= MOST_KEYS:
            self._proved.clear()
        self._proved[sent] = known
        return admitted

    async def of_token(self, claims: ClientClaims) -> KeyCaller:
        """Return the caller of a verified client token, which expires with its key.

        Raises ``TokenInvalid`` (the key was deleted), ``TokenExpired``, ``AccountBanned``, ``Unavailable``.
        """
        known, answer = await self._current(int(claims.client_id), None, None)
        if known.caller.login_id != claims.sub or known.caller.kind != "service":
            raise TokenInvalid
        return await self._admitted(known, answer, known.within(claims.scope), None)

    async def finish(self) -> None:
        """Stop running reads, and wait for recorded uses to be written."""
        readings = list(self._reading.values())
        for reading in readings:
            reading.cancel()
        await asyncio.gather(*readings, return_exceptions=True)
        await self._uses.finish()
        if self._personal is not None:
            await self._personal.finish()

    async def _admitted(
        self, known: _Known, answer: Answer, caller: Caller, address: str | None
    ) -> KeyCaller:
        holder = known.holder
        if self._is_past(holder.expire_time):
            raise TokenExpired(sentence("key_expired"))
        if answer.marker == BANNED:
            ban = await self._store.ban_of(caller.login_id)
            raise banned(ban.until if ban else None)
        if holder.status != "enabled":
            raise AccountBanned
        if holder.banned and not self._is_past(holder.banned_until):
            until = holder.banned_until
            raise banned(None if until is None else round(1000 * until.timestamp()))
        if holder.kind == "service" or self._personal is None:
            self._uses.note(holder.key_id)
        else:
            self._personal.note(holder.key_id, address)
        expires = None if holder.expire_time is None else holder.expire_time.timestamp()
        return KeyCaller(caller, answer, expires, known.changes_at)

    async def _current(self, key_id: int, key: ApiKey | None, address: str | None) -> tuple[_Known, Answer]:
        """Return the data of a key as of a moment after this call, and the answer of the store.

        ``key`` is None if a token has proved it. ``address`` is the address that a wrong key counts against,
        None for no count.
        """
        deadline, arrived = asyncio.get_running_loop().time() + self._database.timeout, self._now()
        for _ in range(_ATTEMPTS):
            known = self._known.get(key_id)
            if known is None or not known.is_recent(self._now()):
                if address is not None and not (known and key and known.proves(key)):
                    await self._throttle.may_try_key(address)
                known = await self._read(key_id, known, deadline)
            if known is None:
                await self._refuse(address)
            if known.until <= arrived:  # read by an earlier request
                continue
            answer = await self._store.checks.ask(known.pair, current_span())
            if answer.value is not None and answer.value == known.epoch:
                return known, answer
            if self._known.get(key_id) is known:
                known.read_at = float("-inf")
        raise Unavailable(sentence("account_being_changed"))

    async def _read(self, key_id: int, known: _Known | None, deadline: float) -> _Known | None:
        """Read a key from the database; concurrent requests share one read.

        Raises ``Unavailable`` at ``deadline``, by the clock of the event loop, so that requests do not queue
        for a silent database. The read continues and reports the fault of the database. ``_current`` compares
        epochs afterwards, so a shared read may have begun earlier.
        """
        task = self._reading.get(key_id)
        if task is None:
            user_id = None if known is None else known.holder.user_id
            task = asyncio.get_running_loop().create_task(self._in_turn(key_id, user_id))
            self._reading[key_id] = task
            task.add_done_callback(lambda done: self._has_read(key_id, done))
        try:
            async with asyncio.timeout_at(deadline):
                return await asyncio.shield(task)
        except TimeoutError:
            raise Unavailable(sentence("key_lookup_late")) from None

    async def _in_turn(self, key_id: int, user_id: int | None) -> _Known | None:
        """Load a key once few other reads run; raises Unavailable if those take too long."""
        try:
            async with asyncio.timeout(_PATIENCE):
                await self._readers.acquire()
        except TimeoutError:
            raise Unavailable(sentence("too_many_key_lookups")) from None
        try:
            return await self._load(key_id, user_id)
        finally:
            self._readers.release()

    async def _load(self, key_id: int, user_id: int | None) -> _Known | None:
        if user_id is None:
            user_id = await api_keys.owner(self._database, key_id)
            if user_id is None:
                return None
        # Set before the account is read: a concurrent change removes it.
        epoch = await self._store.rights_epoch(str(user_id), secrets.token_hex(16))
        since = self._now()
        stored = await api_keys.holder(self._database, key_id, from_seconds(since))
        self._known.pop(key_id, None)
        if stored is None or not self._accepts(stored[0]):
            return None
        while len(self._known) >= MOST_KEYS:
            del self._known[next(iter(self._known))]
        pair = self._store.rights_keys(str(user_id))
        known = self._known[key_id] = _Known(*stored, epoch, since, pair)
        return known

    def _accepts(self, holder: KeyHolder) -> bool:
        """Return True if keys of such an account are accepted; a person's has scopes and an expiry."""
        if holder.kind == "service":
            return True
        return self._personal is not None and bool(holder.scopes) and holder.expire_time is not None

    def _has_read(self, key_id: int, done: asyncio.Task[_Known | None]) -> None:
        self._reading.pop(key_id, None)
        if not done.cancelled():
            done.exception()  # waiting callers raise it; without them, it needs no report

    def _is_past(self, moment: datetime | None) -> bool:
        return moment is not None and moment.timestamp() <= self._now()

    async def _refuse(self, address: str | None) -> NoReturn:
        if address is not None:
            await self._throttle.key_failed(address)
        raise TokenInvalid


def _address() -> str:
    origin = ORIGIN.get()
    return "" if origin is None else origin.address


def _caller(holder: KeyHolder, rights: Rights) -> Caller:
    if holder.kind == "person":
        # The policy decides twice: the codes of the person are no less than they are, nor the scopes.
        bounded = BoundedCodes(rights.permissions, [Ceiling(BY_KEY, frozenset(holder.scopes or ()))])
        return Caller(
            user_id=holder.user_id,
            login_id=str(holder.user_id),
            user_name=holder.user_name,
            nick_name=holder.nick_name,
            device=f"key:{holder.key_id}",
            roles=rights.roles,
            held=bounded,
            issued_at=0.0,
            key_id=holder.key_id,
            authentication=OF_PERSONAL_KEY,
            key_use=use_of_key(barred=rights.keys_barred),
        )
    held = rights.permissions if holder.scopes is None else intersection(rights.permissions, holder.scopes)
    return Caller(
        user_id=holder.user_id,
        login_id=str(holder.user_id),
        user_name=holder.user_name,
        nick_name=holder.nick_name,
        device=f"key:{holder.key_id}",
        roles=rights.roles,
        held=HeldCodes(held),
        issued_at=0.0,
        kind="service",
        service=holder.service,
        key_id=holder.key_id,
        limited_to_nothing=holder.scopes is not None and not holder.scopes,
    )
