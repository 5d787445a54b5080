"""Uploads: from the first byte to a visible file, or to nothing at all; names are data, and never a path."""

import asyncio
import hashlib
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Collection
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from time import monotonic
from typing import Final
from weakref import WeakValueDictionary

import structlog

from service import errors
from service.features.files import store as files
from service.features.files.sentences import sentence
from service.features.files.store import LEASE, Quota, Reservation
from service.files.object_store import ObjectStore
from service.kernel.coded_sentences import Sentence
from service.kernel.media_types import HEAD, KIND_OF, extension_of, kinds_of
from service.kernel.text import first_unseen
from service.records.database.transactions import Database
from service.settings import Upload


def type_of(name: str, head: bytes, taken: Collection[str]) -> str:
    """Return the media type of the file ``name`` that begins with ``head``; one of ``taken``.

    The type that the client states is ignored. Raises UnsupportedMediaType for unknown or not accepted
    content, ValidationFailed if the extension of the name does not fit the content.
    """
    extension = extension_of(name)
    if extension and extension not in KIND_OF:
        raise errors.UnsupportedMediaType(sentence("extension_refused"))
    kinds = kinds_of(head)
    if not extension:
        kinds = [kind for kind in kinds if kind.media_type in taken]
        if not kinds:
            raise errors.UnsupportedMediaType(sentence("content_refused"))
        return kinds[0].media_type
    kind = KIND_OF[extension]
    if kind.media_type not in taken:
        raise errors.UnsupportedMediaType(sentence("extension_refused"))
    if kind not in kinds:
        raise errors.ValidationFailed(("file", sentence("content_differs_from_extension")))
    return kind.media_type


_PIECE: Final = 1024 * 1024
"""Bytes passed on at once: each time costs a thread switch."""

Content = AsyncGenerator[bytes, None]


async def first_of(content: Content) -> bytes:
    """Return the beginning of ``content``: at least ``HEAD`` bytes, or all if it has fewer."""
    head = bytearray()
    async for piece in content:
        head += piece
        if len(head) >= HEAD:
            break
    return bytes(head)


@dataclass(slots=True, eq=False, repr=False)
class Incoming:
    """``head`` followed by ``content``, at most ``limit`` bytes; ``renew`` is called every ``every`` seconds.

    ``size`` and ``sha256`` are those of the bytes so far.
    """

    head: bytes
    content: Content
    limit: int
    too_much: Exception
    renew: Callable[[], Awaitable[bool]]
    every: float
    size: int = field(init=False, default=0)
    _renewed: float = field(init=False, default_factory=monotonic)
    _hash: "hashlib._Hash" = field(init=False, default_factory=hashlib.sha256)

    @property
    def sha256(self) -> str:
        """The digest of the bytes so far, in hexadecimal."""
        return self._hash.hexdigest()

    async def pieces(self) -> Content:
        """Yield the bytes in pieces. Raises ``too_much``, errors of the content, and Unavailable."""
        async for piece in self._together():
            self._hash.update(piece)
            yield piece

    async def _together(self) -> Content:
        waiting = bytearray(self._take(self.head))
        async for piece in self.content:
            waiting += self._take(piece)
            await self._stay()
            if len(waiting) >= _PIECE:
                yield bytes(waiting)
                waiting.clear()
        if waiting:
            yield bytes(waiting)

    def _take(self, piece: bytes) -> bytes:
        self.size += len(piece)
        if self.size > self.limit:
            raise self.too_much
        return piece

    async def _stay(self) -> None:
        if monotonic() - self._renewed < self.every:
            return
        if not await self.renew():
            raise errors.Unavailable(sentence("upload_paused"))
        self._renewed = monotonic()


PATIENCE: Final = 10.0
"""Seconds that an upload waits for a slot."""


class UploadSlots:
    """At most ``most`` slots, and half of them per user: a slow client delays its own user first."""

    def __init__(self, most: int) -> None:
        self._all = asyncio.Semaphore(most)
        self._share = max(1, most // 2)
        # A user's semaphore exists as long as one of the user's uploads.
        self._of_users: WeakValueDictionary[int, asyncio.Semaphore] = WeakValueDictionary()

    @asynccontextmanager
    async def taken(self, user_id: int) -> AsyncIterator[None]:
        """Hold a slot for a user during the block; raises Unavailable if none is free in time."""
        own = self._of_users.get(user_id)
        if own is None:
            own = self._of_users[user_id] = asyncio.Semaphore(self._share)
        deadline = asyncio.get_running_loop().time() + PATIENCE
        async with _in_time(own, deadline), _in_time(self._all, deadline):
            yield


@asynccontextmanager
async def _in_time(turns: asyncio.Semaphore, deadline: float) -> AsyncIterator[None]:
    try:
        async with asyncio.timeout_at(deadline):
            await turns.acquire()
    except TimeoutError:
        raise errors.Unavailable(sentence("too_many_uploads"), retry_after=int(PATIENCE)) from None
    try:
        yield
    finally:
        turns.release()


_RENEW_EVERY: Final = LEASE.total_seconds() / 5
_CLOSE: Final = {"Connection": "close"}  # else the rest of the body would be awaited

_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Offer:
    """A file to upload.

    ``least`` and ``most`` bound its length in bytes; ``most`` is None if the length is unknown.
    """

    owner_id: int
    name: str
    content: Content
    least: int = 0
    most: int | None = None


class Uploads:
    """Receives files. The row is written first, the object second; only then is the file visible.

    A failure in between leaves an invisible row, by which the object is found and deleted: at once if
    possible, else by the cleanup.
    """

    def __init__(self, database: Database, objects: ObjectStore, limits: Upload) -> None:
        self._database = database
        self._objects = objects
        self._limits = limits
        self._taken = frozenset(name.strip() for name in limits.types.split(","))
        self._slots = UploadSlots(limits.concurrent)
        self._clearing: set[asyncio.Task[None]] = set()

    def refuse_length(self, least: int) -> None:
        """Raise TooLarge if ``least``, the smallest possible size in bytes, is over the limit."""
        if least > self._limits.max_bytes:
            raise errors.TooLarge(sentence("file_too_large", most=self._limits.max_bytes), headers=_CLOSE)

    async def receive(self, offer: Offer) -> files.File:
        """Receive one file, and return its record.

        Raises ValidationFailed for a bad name or content that does not fit it, UnsupportedMediaType,
        TooLarge, QuotaExceeded, Unavailable, and what the content raises.
        """
        if fault := file_name_fault(offer.name):
            raise errors.ValidationFailed(("file", fault))
        self.refuse_length(offer.least)
        async with self._slots.taken(offer.owner_id):
            head = await first_of(offer.content)
            content_type = type_of(offer.name, head, self._taken)
            reserved = await self._reserve(offer, head, content_type)
            return await self._store(reserved, head, offer.content)

    async def finish(self) -> None:
        """Cancel cleaning up in the background; the cleanup does the rest."""
        for clearing in self._clearing:
            clearing.cancel()
        await asyncio.gather(*self._clearing, return_exceptions=True)

    async def clear(self, file_id: int, key: str) -> None:
        """Delete the object and the row of a discarded file.

        The cleanup deletes failed objects and objects that a backup is about to copy. An object of the
        installation that this one was restored from stays.
        """
        with suppress(errors.Unavailable):
            async with self._database.transaction(is_step=True) as connection:
                deletion = await files.may_delete(connection, key)
            if deletion.kept:
                return
            if deletion.own:
                await self._objects.delete(key)
            async with self._database.transaction(is_step=True) as connection:
                await files.forget(connection, file_id)

    async def _reserve(self, offer: Offer, head: bytes, content_type: str) -> Reservation:
        limits = self._limits
        least = max(len(head), offer.least)
        self.refuse_length(least)
        most = limits.max_bytes if offer.most is None else min(limits.max_bytes, offer.most)
        quota = Quota(limits.user_bytes, limits.user_files)
        async with self._database.transaction(is_step=True) as connection:
            return await files.reserve(
                connection, offer.owner_id, offer.name, content_type, least=least, most=most, quota=quota
            )

    async def _store(self, reserved: Reservation, head: bytes, content: Content) -> files.File:
        incoming = Incoming(
            head,
            content,
            limit=reserved.size,
            too_much=self._too_much(reserved.size),
            renew=partial(self._renew, reserved.file_id),
            every=_RENEW_EVERY,
        )
        try:
            await self._objects.put(reserved.key, incoming.pieces())
            return await self._settle(reserved, incoming)
        except errors.Unavailable:
            self._begin_clearing(reserved)  # the answer does not wait again for an unavailable store
            raise
        except BaseException:
            # Also if the request is cancelled: cleaning up must not be.
            await asyncio.shield(self._begin_clearing(reserved))
            raise

    async def _settle(self, reserved: Reservation, incoming: Incoming) -> files.File:
        async with self._database.transaction() as connection:
            if not await files.settle(connection, reserved.file_id, incoming.size, incoming.sha256):
                raise errors.Unavailable(sentence("upload_too_slow"))
            return await files.read(connection, reserved.file_id)

    def _begin_clearing(self, reserved: Reservation) -> asyncio.Task[None]:
        clearing = asyncio.create_task(self._give_up(reserved))
        self._clearing.add(clearing)
        clearing.add_done_callback(self._clearing.discard)
        return clearing

    async def _renew(self, file_id: int) -> bool:
        async with self._database.transaction(is_step=True) as connection:
            return await files.renew(connection, file_id)

    async def _give_up(self, reserved: Reservation) -> None:
        try:
            async with self._database.transaction(is_step=True) as connection:
                await files.discard(connection, reserved.file_id)
        except errors.Unavailable:
            # It may even have been settled: only files known to be discarded may be deleted.
            _log.warning("upload not cleared", file_id=reserved.file_id)
            return
        await self.clear(reserved.file_id, reserved.key)

    def _too_much(self, granted: int) -> errors.Refusal:
        if granted < self._limits.max_bytes:
            return errors.QuotaExceeded(sentence("files_too_large_together"), headers=_CLOSE)
        return errors.TooLarge(sentence("file_too_large", most=granted), headers=_CLOSE)


MAX_BYTES: Final = 255
"""Bytes of the longest name in UTF-8: the limit of file systems, so that downloads can be saved."""


def file_name_fault(name: str) -> Sentence | None:
    """Return the fault of a file name, as a phrase that starts with "must"; None if it is valid.

    A path is rejected, not shortened to its last part: the shortened name would not be the requested name.
    """
    if not name:
        return sentence("file_name_missing")
    if len(name.encode(errors="replace")) > MAX_BYTES:
        return sentence("file_name_too_long", most=MAX_BYTES)
    if first_unseen(name) is not None:  # a name that ends with "jpg.exe" can look like "exe.gpj"
        return sentence("file_name_unseen")
    if "/" in name or "\\" in name:
        return sentence("file_name_is_path")
    if name != name.strip() or name.endswith("."):
        return sentence("file_name_ends")
    return None
