"""Creating writes under an idempotency key: made once, with the same answer for every repetition."""

import hmac
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from hashlib import sha256
from typing import Any, Final

from service.authn.passwords import Passwords
from service.authn.signing_keys import derived_keys
from service.errors import IdempotencyKeyReused, RequestUnderWay
from service.features.idempotency import store as idempotent_answers
from service.features.idempotency.store import KeptAnswer
from service.kernel.write import AnsweredBeforeError, IdempotentWrite, KeyScope
from service.records.database.transactions import Connection, Database
from service.settings import Auth
from service.web.requests.idempotency import MakeAnswer

_SLOW: Final = "$"
"""The first character of a hashed fingerprint (PHC string format); plain fingerprints are hexadecimal."""


class Fingerprints:
    """Compares the content of requests without keeping any of it.

    A fingerprint is an HMAC with a key derived from the signing key. If the request holds a password, the
    fingerprint is hashed with Argon2id like the password itself. Otherwise a thief of database and signing
    key could test passwords faster than against the password hash.
    """

    def __init__(self, settings: Auth, passwords: Passwords, now: Callable[[], float] = time.time) -> None:
        """``now`` returns the time in seconds since the epoch, by which the previous signing key expires."""
        self._keys = derived_keys(settings, b"idempotency")
        self._passwords = passwords
        self._now = now

    async def of(self, content: bytes, *, holds_secret: bool) -> str:
        """Return the fingerprint to store; raises ``Unavailable`` while too many passwords wait."""
        made = _mac(self._keys[0].key, content)
        return await self._passwords.hash(made) if holds_secret else made

    async def agrees(self, kept: str, content: bytes) -> bool:
        """True if ``kept`` is a fingerprint of ``content``, by any signing key that is accepted."""
        now = self._now()
        for made in [_mac(key, content) for key, until in self._keys if now < until]:
            if kept.startswith(_SLOW):
                if await self._passwords.verify(kept, made):
                    return True
            elif hmac.compare_digest(kept, made):
                return True
        return False


def _mac(key: bytes, content: bytes) -> str:
    return hmac.digest(key, content, sha256).hex()


class IdempotentWrites:
    """Makes writes and stores their answers for 24 hours, in the transaction of the write itself.

    A refused request stores nothing, and its key stays free.
    """

    def __init__(self, database: Database, fingerprints: Fingerprints) -> None:
        self._database = database
        self._fingerprints = fingerprints
        self._under_way: set[KeyScope] = set()

    @asynccontextmanager
    async def write(
        self, scope: KeyScope, content: bytes, answer: MakeAnswer, *, holds_secret: bool
    ) -> AsyncIterator[IdempotentWrite]:
        """Let the block make the write of a request, and store the answer that ``answer`` returns for it.

        A repetition must have the same ``content`` as the request; ``holds_secret``: the content may include
        a password. Raises ``RequestUnderWay`` while another request uses the key, and
        ``IdempotencyKeyReused`` if the key was used with other content. Raises ``AnsweredBeforeError`` with
        the kept answer if the key was used with this content, once the block has checked that the caller may
        make the write.
        """
        if scope in self._under_way:
            raise RequestUnderWay
        self._under_way.add(scope)
        try:
            async with self._database.snapshot() as connection:
                kept = await idempotent_answers.find(connection, scope)
            if kept is None:
                fingerprint = await self._fingerprints.of(content, holds_secret=holds_secret)
            elif await self._fingerprints.agrees(kept.fingerprint, content):
                fingerprint = kept.fingerprint
            else:
                raise IdempotencyKeyReused
            yield _Write(scope, fingerprint, answer, kept)
        finally:
            self._under_way.discard(scope)


class _Write:
    """One request with a key; ``kept`` is the answer to an earlier request with that key."""

    def __init__(
        self, scope: KeyScope, fingerprint: str, answer: MakeAnswer, kept: KeptAnswer | None
    ) -> None:
        self._scope = scope
        self._fingerprint = fingerprint
        self._answer = answer
        self._kept = kept
        self._connection: Connection | None = None
        self._is_kept = False

    async def begin(self, connection: Connection) -> None:
        """Claim the key, once. Raises ``RequestUnderWay`` if another process holds it or has just used it."""
        if self._connection is not None:
            raise RuntimeError("a write under an idempotency key begins twice")
        self._connection = connection
        if not await idempotent_answers.claim(connection, self._scope):
            raise RequestUnderWay
        if await idempotent_answers.find(connection, self._scope) != self._kept:
            raise RequestUnderWay

    def authorized(self) -> None:
        """Raise ``AnsweredBeforeError`` if there is a kept answer."""
        if self._kept is not None:
            raise AnsweredBeforeError(self._kept)

    async def made(self, saved: object) -> None:
        """Make and store the answer."""
        if self._connection is None or self._kept is not None:
            raise RuntimeError("a write under an idempotency key is made twice, or in no transaction")
        await idempotent_answers.keep(self._connection, self._scope, self._fingerprint, self._answer(saved))
        self._is_kept = True

    def end(self) -> None:
        """Raise RuntimeError if the answer is not stored."""
        if not self._is_kept:
            raise RuntimeError("a write under an idempotency key has kept no answer")


def idempotent_writes(container: Any) -> IdempotentWrites:
    """Return the idempotent writes of a worker."""
    auth, stores = container.settings.auth, container.stores
    now = stores.sessions.synchronized.now
    return IdempotentWrites(stores.database, Fingerprints(auth, container.sign_in.passwords, now))
