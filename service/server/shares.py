"""Connection counts and limits of the workers of a node; a worker with few connections accepts the next."""

import os
import resource
from array import array
from collections.abc import Iterator
from mmap import mmap
from multiprocessing.reduction import DupFd
from typing import Any, Final

from service.settings import Settings

_TYPE: Final = "I"  # of array and memoryview: 32 bits, without a sign


class SharedNumbers:
    """Numbers from 0 to 2**32 - 1, each ``first`` in the beginning.

    They are in an anonymous file (memfd_create(2)), passed to the processes that the launcher starts. Shared
    memory of ``multiprocessing`` needs a writable ``/dev/shm``.
    """

    def __init__(self, count: int, first: int) -> None:
        content = array(_TYPE, [first] * count).tobytes()
        self._file = os.memfd_create("portcullis-numbers")
        os.write(self._file, content)
        self._numbers = memoryview(mmap(self._file, len(content))).cast(_TYPE)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pass the file itself to a starting process."""
        return _handed, (DupFd(self._file),)

    def __getitem__(self, place: int) -> int:
        return self._numbers[place]

    def __setitem__(self, place: int, number: int) -> None:
        self._numbers[place] = number

    def __iter__(self) -> Iterator[int]:
        return iter(self._numbers)


def _handed(file: Any) -> SharedNumbers:
    numbers = SharedNumbers.__new__(SharedNumbers)
    numbers._file = file.detach()  # noqa: SLF001 - it is made here
    numbers._numbers = memoryview(mmap(numbers._file, 0)).cast(_TYPE)  # noqa: SLF001 - the same
    return numbers


CLOSED: Final = 2**32 - 1
"""The count of a worker that accepts nothing: it is starting, stopping, or gone."""


class Share:
    """The connections of one worker, beside those of the other workers of its node.

    ``counts`` has a place for each worker, in shared memory; ``place`` is the place of this worker, from 0.
    Only its worker writes a count, and the others read it a moment later: it balances load, and is no lock.
    """

    def __init__(self, counts: SharedNumbers, place: int) -> None:
        self._counts = counts
        self._place = place
        self._accepts = False

    def join(self) -> None:
        """Announce to the other workers that this worker accepts connections."""
        self._accepts = True
        self.tell(0)

    def tell(self, connections: int) -> None:
        """Publish the number of connections of this worker, while it accepts."""
        if self._accepts:
            self._counts[self._place] = connections

    def leave(self) -> None:
        """Announce to the other workers that this worker accepts no more connections."""
        self._accepts = False
        self._counts[self._place] = CLOSED

    def is_exceeded_by(self, connections: int) -> bool:
        """Return whether another worker that accepts has fewer than ``connections``."""
        return any(count < connections for place, count in enumerate(self._counts) if place != self._place)


def alone() -> Share:
    """Return the share of a worker that has no others beside it."""
    return Share(SharedNumbers(1, CLOSED), 0)


USUAL: Final = 10_000
"""The most connections of a worker unless the settings or the system have a lower limit."""

# For connections to the stores, logs, uploads, and rejected connections.
_RESERVE: Final = 128


def raise_file_limit() -> int:
    """Raise the soft limit for open files to the hard one, for this process and its children; return it."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


def most_connections(settings: Settings) -> int:
    """Return the maximum number of connections of this worker, at least 1."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = settings.server.max_connections or USUAL
    others = _RESERVE + settings.database.pool_size + 2 * settings.upload.concurrent
    return limit if soft == resource.RLIM_INFINITY else max(1, min(limit, soft - others))
