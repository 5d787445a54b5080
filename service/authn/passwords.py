"""Password hashing by Argon2id (RFC 9106), in threads, with a bounded queue."""

import asyncio
import base64
import ctypes
import os
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Final, TypeVar

import structlog
from argon2 import PasswordHasher, Type
from argon2.exceptions import InvalidHashError, VerificationError
from argon2.low_level import ARGON2_VERSION

from service.errors import Overloaded
from service.kernel.clock import AtMostEvery
from service.kernel.core_sentences import sentence
from service.kernel.origin import Span
from service.kernel.tracing import traced
from service.settings import Password

MAX_CHARACTERS = 1024
MAX_BYTES = 4096
NICENESS: Final = 5
"""Reduction of the priority of the hashing threads (nice(2)): a logged-in user's request goes first."""
KEPT: Final = 4
"""One place in so many is kept for logins that are favoured."""
TELL_EVERY: Final = 10.0
"""Seconds between two lines of the log about logins that were refused because too many wait."""
QUIET: Final = 5.0
"""Seconds without a hash after which the memory of the last hashes is released."""
_T = TypeVar("_T")
_log = structlog.get_logger(__name__)


class Passwords:
    """Hashes and verifies passwords in as many threads as there are cores, at a lower priority than requests.

    At most ``max_waiting`` calls wait for a thread; one more raises ``Overloaded`` at once, so that a flood
    of logins can't exhaust memory or add seconds of delay. A quarter of these places is kept for calls that
    are ``favoured``.
    """

    def __init__(self, settings: Password) -> None:
        self._hasher = PasswordHasher(
            time_cost=settings.argon2_time,
            memory_cost=settings.argon2_memory,
            parallelism=settings.argon2_parallelism,
            type=Type.ID,
        )
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        self._threads = cores
        self._limit = cores + settings.max_waiting
        self._limit_of_others = self._limit - settings.max_waiting // KEPT
        self._refused = 0
        self._telling = AtMostEvery(TELL_EVERY)
        self._pool = ThreadPoolExecutor(cores, thread_name_prefix="passwords", initializer=_step_back)
        self._lock = threading.Lock()
        self._busy = 0
        self._quiet: asyncio.TimerHandle | None = None
        self._nobody = _hash_of_no_password(self._hasher)

    async def verify(self, stored: str | None, password: str, *, favoured: bool = True) -> bool:
        """True if ``password`` matches the hash ``stored``.

        None (unknown user, or no password) takes the same time and returns False. A caller who is not
        ``favoured`` is refused a little earlier while many wait.
        """
        if _too_long(password):
            return False
        same = await self._run(
            lambda: self._matches(stored or self._nobody, password),
            name="verify password",
            limit=self._limit if favoured else self._limit_of_others,
        )
        return same and stored is not None

    async def hash(self, password: str) -> str:
        """Return the hash of the whole ``password``; ValueError if it is longer than the rules can allow."""
        if _too_long(password):
            raise ValueError("the password exceeds the maximum length")
        return await self._run(lambda: self._hasher.hash(password))

    async def hash_all(self, passwords: Sequence[str]) -> list[str]:
        """Return the hashes of ``passwords`` in the same order.

        At most one per thread is queued at a time, so that a login waits for one of them at most. Raises what
        ``hash`` raises.
        """
        free = asyncio.Semaphore(self._threads)

        async def hashed(password: str) -> str:
            async with free:
                return await self.hash(password)

        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(hashed(password)) for password in passwords]
        except ExceptionGroup as group_of_faults:
            raise group_of_faults.exceptions[0] from None
        return [task.result() for task in tasks]

    def needs_rehash(self, stored: str) -> bool:
        """True if ``stored`` was made with other parameters than the current settings."""
        return self._hasher.check_needs_rehash(stored)

    def close(self) -> None:
        """Stop the threads, without waiting for work in progress."""
        if self._quiet is not None:
            self._quiet.cancel()
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _matches(self, stored: str, password: str) -> bool:
        try:
            return self._hasher.verify(stored, password)
        except (VerificationError, InvalidHashError):
            return False

    async def _run(
        self, work: Callable[[], _T], *, name: str = "hash password", limit: int | None = None
    ) -> _T:
        with traced(name) as span:
            whole = work if span is None else partial(_timed, span, work)
            return await self._in_thread(whole, self._limit if limit is None else limit)

    async def _in_thread(self, work: Callable[[], _T], limit: int) -> _T:
        with self._lock:
            is_full = self._busy >= limit
            self._busy += not is_full
        if is_full:
            self._refused += 1
            if self._telling.due():
                _log.warning("logins are refused: too many wait for their hash", refused=self._refused)
            raise Overloaded(sentence("too_many_logins"))
        future = self._pool.submit(work)
        # Counted until the work is done or dropped, even if the request stops waiting.
        future.add_done_callback(self._done)
        self._give_back_later()
        return await asyncio.wrap_future(future)

    def _give_back_later(self) -> None:
        if self._quiet is not None:
            self._quiet.cancel()
        self._quiet = asyncio.get_running_loop().call_later(QUIET, self._give_back)

    def _give_back(self) -> None:
        if self._busy:
            self._give_back_later()
        else:
            self._quiet = None
            self._pool.submit(give_back_free_memory)

    def _done(self, _future: Future[_T]) -> None:
        with self._lock:
            self._busy -= 1


def _timed(span: Span, work: Callable[[], _T]) -> _T:
    """Do ``work`` within a span of its own, which separates it from the wait for a thread."""
    within = span.child("Argon2id")
    try:
        return work()
    finally:
        within.end()


def _step_back() -> None:
    """Lower the priority of the calling thread; elsewhere than on Linux it would be that of the process."""
    if sys.platform == "linux":
        os.nice(NICENESS)


def _hash_of_no_password(hasher: PasswordHasher) -> str:
    """Return a hash of no known password; verifying it costs as much as any hash of ``hasher``.

    Salt and digest are random: a real hash, in the same PHC string format, would delay each start.
    """
    salt, digest = (
        base64.b64encode(os.urandom(size)).rstrip(b"=").decode()
        for size in (hasher.salt_len, hasher.hash_len)
    )
    costs = f"m={hasher.memory_cost},t={hasher.time_cost},p={hasher.parallelism}"
    return f"$argon2id$v={ARGON2_VERSION}${costs}${salt}${digest}"


def _too_long(password: str) -> bool:
    """True if no rule could ever have allowed this password; also for text that can't be UTF-8."""
    if len(password) > MAX_CHARACTERS:
        return True
    try:
        return len(password.encode()) > MAX_BYTES
    except UnicodeEncodeError:  # half of a surrogate pair
        return True


def give_back_free_memory() -> None:
    """Return free memory to the system (malloc_trim(3)); takes milliseconds. Does nothing without glibc."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
