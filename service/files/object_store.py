"""The object store: any S3-compatible service, or a local directory, behind one interface.

obstore is imported when the store is first used: see ``connections``.
"""

from __future__ import annotations

import asyncio
import errno
import math
import os
import re
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from time import monotonic, perf_counter
from typing import TYPE_CHECKING, Final

import structlog

from service.errors import NotFound, Unavailable
from service.files.connections import Opener, Store, is_of_store, make_directory, opener
from service.kernel.core_sentences import sentence
from service.kernel.metrics import Durations, Health, State
from service.kernel.tracing import traced
from service.settings import Objstore

if TYPE_CHECKING:
    from obstore import GetResult

PART: Final = 5 * 1024 * 1024
"""Bytes of a part of a large object, the S3 minimum. Smaller objects are put in one request."""

CALLS: Final = ("ping", "put", "read", "delete", "list")
TIMED: Final = ("ping", "put", "read", "delete")
"""Calls whose time depends on the store alone: ``put`` in one piece, ``read`` until the first byte."""

_IN_FLIGHT: Final = 2  # parts of one object being sent at the same time
_CHUNK: Final = 512 * 1024
_LISTED: Final = 500
_LATELY: Final = 60.0  # seconds
_CODE: Final = re.compile(r"<Code>([A-Za-z]{1,64})</Code>")
_NO_BUCKET: Final = "NoSuchBucket"
_NO_RANGES: Final = "Received non-partial response"

_log = structlog.get_logger()


class ObjectStore:
    """The store of file contents, opened at first use; ``description`` names it without secrets.

    Every method raises ``Unavailable`` and logs why if the store is out of reach or refuses the credentials.
    """

    def __init__(self, open_: Opener, description: str, directory: Path | None = None) -> None:
        """``open_`` opens the store; ``directory`` is its path if it is local."""
        self._open = open_
        self._store: Store | None = None
        self._looking: asyncio.Future[None] | None = None
        self._has_looked = False
        self._put_failed = -math.inf
        self.calls = dict.fromkeys(product(CALLS, ("done", "failed")), 0)
        """The calls that the store has answered or failed, by call and outcome."""
        self.durations = {call: Durations() for call in TIMED}
        self.directory = directory
        self.description = description

    @property
    def refused_lately(self) -> bool:
        """True if the last write of an object failed less than a minute ago."""
        return monotonic() - self._put_failed < _LATELY

    async def _opened(self) -> Store:
        """Return the store; opening it in a thread, as the import of obstore takes milliseconds."""
        if self._store is None:
            self._store = await asyncio.to_thread(self._open)
        return self._store

    async def ping(self) -> None:
        """List an unused prefix, which proves that the bucket exists and the credentials are valid.

        A local directory is made at the first ping, and opened at later ones.
        """
        with self._counted("ping"), self._timed("ping"):
            if self.directory is not None:
                await self._look(self.directory)
                return
            import obstore  # noqa: PLC0415 - only where there is a bucket

            await obstore.list_with_delimiter_async(await self._opened(), prefix="readiness")

    async def _look(self, directory: Path) -> None:
        """Read the directory in a thread; never start a second thread while the first hangs."""
        if self._looking is not None and not self._looking.done():
            raise TimeoutError
        look = _look_into if self._has_looked else make_directory
        self._looking = asyncio.get_running_loop().run_in_executor(None, look, directory)
        await asyncio.shield(self._looking)
        self._has_looked = True

    async def put(self, key: str, pieces: AsyncIterator[bytes]) -> None:
        """Store ``pieces`` as the object ``key``, which becomes visible only when it is complete.

        At most a few parts are in memory. Exceptions of ``pieces`` are passed on; then no object remains,
        unless the store becomes unavailable at the same time.
        """
        first = bytearray()
        async for piece in pieces:
            first += piece
            if len(first) > PART:
                await self._put_in_parts(key, first, pieces)
                return
        with self._putting(), self._timed("put"):
            import obstore  # noqa: PLC0415 - see above

            await obstore.put_async(await self._opened(), key, bytes(first), use_multipart=False)

    @contextmanager
    def _putting(self) -> Iterator[None]:
        try:
            with self._counted("put"):
                yield
        except Unavailable:
            self._put_failed = monotonic()
            raise
        self._put_failed = -math.inf

    async def _put_in_parts(self, key: str, first: bytearray, rest: AsyncIterator[bytes]) -> None:
        failures: list[Exception] = []

        async def together() -> AsyncGenerator[bytes, None]:
            # On an error obstore would leave the uploaded parts in the store, invisible. Ending normally
            # makes an object of them, which can be deleted.
            yield bytes(first)
            first.clear()  # or both frames would hold it during the upload
            try:
                async for piece in rest:
                    yield piece
            except Exception as error:  # noqa: BLE001 - raised below
                failures.append(error)

        import obstore  # noqa: PLC0415 - see above

        with self._putting():
            store = await self._opened()
            await obstore.put_async(store, key, together(), chunk_size=PART, max_concurrency=_IN_FLIGHT)
        for failure in failures:
            await self.delete(key)
            raise failure

    async def read(self, key: str, size: int, start: int, stop: int) -> AsyncGenerator[bytes, None]:
        """Yield the bytes from ``start`` up to ``stop`` (exclusive) of the object ``key`` of ``size`` bytes.

        Raises NotFound if there is no such object, Unavailable if it has another size or ends too early. At
        most one chunk is read ahead of the consumer.
        """
        if start == stop:
            return
        with self._counted("read"):
            try:
                with self._timed("read"):
                    response, skip = await self._get(key, size, start, stop)
            except FileNotFoundError as error:
                if _NO_BUCKET in str(error):
                    raise
                _log.error("object of a file is missing", key=key)
                raise NotFound(sentence("content_missing")) from None
            left = stop - start
            async for chunk in response.stream(min_chunk_size=_CHUNK):
                piece = bytes(chunk) if skip == 0 else bytes(chunk)[skip:]
                skip = max(0, skip - len(chunk))
                if piece := piece[:left]:
                    left -= len(piece)
                    yield piece
                if not left:
                    return
        raise _damaged(key)

    async def _get(self, key: str, size: int, start: int, stop: int) -> tuple[GetResult, int]:
        """Return the result to read, and how many bytes to skip: not every S3 server supports ranges."""
        import obstore  # noqa: PLC0415 - see above
        from obstore.exceptions import GenericError  # noqa: PLC0415

        store = await self._opened()
        try:
            if (start, stop) == (0, size):
                response = await obstore.get_async(store, key)
            else:
                response = await obstore.get_async(store, key, options={"range": (start, stop)})
        except GenericError as error:
            if _NO_RANGES not in str(error):
                raise
            response = await obstore.get_async(store, key)
        if response.meta["size"] != size or response.range[0] > start:
            raise _damaged(key)
        return response, start - response.range[0]

    async def delete(self, key: str) -> None:
        """Delete an object; does nothing if it does not exist."""
        import obstore  # noqa: PLC0415 - see above

        with self._counted("delete"):
            try:
                with self._timed("delete"):
                    await obstore.delete_async(await self._opened(), key)
            except FileNotFoundError as error:
                if _NO_BUCKET in str(error):
                    raise

    async def keys(self, prefix: str) -> AsyncGenerator[list[str], None]:
        """Yield the keys below ``prefix``, some hundred at a time."""
        import obstore  # noqa: PLC0415 - see above

        with self._counted("list"):
            async for chunk in obstore.list(await self._opened(), prefix=prefix, chunk_size=_LISTED):
                yield [entry["path"] for entry in chunk]

    async def unfinished(self, prefix: str) -> list[Unfinished]:
        """Return the unfinished objects below ``prefix``: still being written, or left by a dead process.

        Only for a local directory; an S3 store has lifecycle rules for incomplete uploads.
        """
        if self.directory is None:
            return []
        return await asyncio.to_thread(unfinished_in, self.directory, prefix)

    @contextmanager
    def _counted(self, call: str) -> Iterator[None]:
        """Count a call; turn errors of the store into refusals without their text, which may name keys."""
        with traced(f"object store {call}", kind="client"):
            try:
                yield
            except Exception as error:
                if not is_of_store(error):
                    raise
                self.calls[call, "failed"] += 1
                raise _unavailable(call, error) from None
        self.calls[call, "done"] += 1

    @contextmanager
    def _timed(self, call: str) -> Iterator[None]:
        begun = perf_counter()
        yield
        self.durations[call].observe(perf_counter() - begun)


def _unavailable(call: str, error: Exception) -> Unavailable:
    code = _CODE.search(str(error))
    _log.warning("object store fails", action=call, reason=code[1] if code else type(error).__name__)
    return Unavailable(sentence("object_store_unavailable"))


def _damaged(key: str) -> Unavailable:
    _log.error("object differs from its record", key=key)
    return Unavailable(sentence("content_damaged"))


def _look_into(directory: Path) -> None:
    with os.scandir(directory):
        pass


def object_store(settings: Objstore, directory: Path) -> ObjectStore:
    """Return the S3-compatible store of ``settings`` if it names a bucket, else local ``directory``."""
    if not settings.bucket:
        return ObjectStore(opener(settings, directory), f"local directory {directory}", directory)
    place = settings.endpoint or "Amazon S3"
    return ObjectStore(opener(settings, directory), f"bucket {settings.bucket} at {place}")


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A partly written object ``key``, of a running upload or a dead process."""

    key: str
    place: Path

    def remove(self) -> None:
        """Delete it; does nothing if it was finished meanwhile."""
        self.place.unlink(missing_ok=True)


def unfinished_in(directory: Path, prefix: str) -> list[Unfinished]:
    """Return the unfinished objects below ``prefix`` of a local store.

    obstore writes an object under its name, ``#`` and a number, renames it at the end, and never lists it.
    """
    return [
        Unfinished(f"{prefix}/{place.name.partition('#')[0]}", place)
        for place in (directory / prefix).glob("*#*")
    ]


_TRIED: Final = 65_536  # bytes
_REFUSED: Final = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM}


class FilesCheck:
    """Checks ``objects``; in a local ``directory`` by writing an unnamed temporary file."""

    def __init__(self, objects: ObjectStore, directory: Path | None) -> None:
        self._objects = objects
        self._directory = directory
        self._writing: asyncio.Future[State] | None = None

    async def health(self) -> Health:
        """Return the state of the store; raises Unavailable.

        ``read_only``: the local directory is full or not writable. ``degraded``: the store answers, but the
        last write of an object failed less than a minute ago; a test write would cost money in S3.
        """
        await self._objects.ping()
        state: State = "up" if self._directory is None else await self._try_writing(self._directory)
        if state == "up" and self._objects.refused_lately:
            state = "degraded"
        return Health(state, {"store": self._objects.description})

    async def _try_writing(self, directory: Path) -> State:
        """Write in a thread; never start a second one while the first one hangs."""
        if self._writing is not None and not self._writing.done():
            raise Unavailable(sentence("files_unavailable"))
        self._writing = asyncio.get_running_loop().run_in_executor(None, _write, directory)
        return await asyncio.shield(self._writing)


def _write(directory: Path) -> State:
    try:
        with tempfile.TemporaryFile(dir=directory, buffering=0) as file:
            if file.write(bytes(_TRIED)) < _TRIED:
                return "read_only"  # the disk is nearly full
    except OSError as error:
        if error.errno in _REFUSED:
            return "read_only"
        raise
    return "up"
