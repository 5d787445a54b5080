"""Memory shared by the workers of a node: each worker writes its counts, and any worker reads all."""

import os
from multiprocessing.reduction import DupFd
from struct import Struct
from time import monotonic
from typing import Any, Final
from zlib import crc32

LONGEST: Final = 2 * 1024 * 1024
"""The maximum size of a snapshot in bytes. Only written snapshots use memory."""
FRESH: Final = 15.0
"""Seconds without a new snapshot after which a worker counts as ended."""

_HEAD: Final = Struct("<dII")  # written at (seconds since boot), length, checksum of the content
_PLACE: Final = _HEAD.size + LONGEST
_PLACES: Final = 2  # per slot: one is complete while the other is written


class SharedMetrics:
    """The latest snapshot of each worker; a worker has a slot, from 1 to ``slots``.

    The memory is an anonymous file (memfd_create(2)), which the launcher passes to its child processes. It
    needs no store, so metrics are readable while a store is unavailable. It ends with the node.
    """

    def __init__(self, slots: int) -> None:
        self.slots = slots
        self._file = os.memfd_create("portcullis-metrics")

    def __reduce__(self) -> tuple[Any, ...]:
        """Pass the file itself to a starting process."""
        return _handed, (self.slots, DupFd(self._file))

    def write(self, slot: int, snapshot: bytes) -> None:
        """Replace the snapshot of a slot; only its worker may. Raises ValueError if it is too long."""
        if len(snapshot) > LONGEST:
            raise ValueError(f"a snapshot of {len(snapshot)} bytes has no room")
        places = [(self._head(place)[0], place) for place in self._places(slot)]
        older = min(places)[1]
        os.pwrite(self._file, _HEAD.pack(monotonic(), len(snapshot), crc32(snapshot)) + snapshot, older)

    def clear(self, slot: int) -> None:
        """Delete the snapshot of an ending worker."""
        for place in self._places(slot):
            os.pwrite(self._file, bytes(_HEAD.size), place)

    def read(self) -> dict[int, bytes]:
        """Return the latest snapshots of the running workers, by slot."""
        snapshots = {}
        for slot in range(1, self.slots + 1):
            whole = [snapshot for place in self._places(slot) if (snapshot := self._whole(place)) is not None]
            if whole:
                snapshots[slot] = max(whole)[1]
        return snapshots

    def close(self) -> None:
        """Close the file in this process."""
        os.close(self._file)

    def _places(self, slot: int) -> tuple[int, ...]:
        return tuple(((slot - 1) * _PLACES + number) * _PLACE for number in range(_PLACES))

    def _head(self, place: int) -> tuple[float, int, int]:
        head = os.pread(self._file, _HEAD.size, place).ljust(_HEAD.size, b"\0")  # not written yet
        written, length, checksum = _HEAD.unpack(head)
        return written, length, checksum

    def _whole(self, place: int) -> tuple[float, bytes] | None:
        """Return the time of a snapshot, and the snapshot; None if it is too old or being written."""
        written, length, checksum = self._head(place)
        if not written or monotonic() - written > FRESH or length > LONGEST:
            return None
        snapshot = os.pread(self._file, length, place + _HEAD.size)
        return (written, snapshot) if crc32(snapshot) == checksum else None


def _handed(slots: int, file: Any) -> SharedMetrics:
    shared_metrics = SharedMetrics.__new__(SharedMetrics)
    shared_metrics.slots = slots
    shared_metrics._file = file.detach()  # noqa: SLF001 - it is made here
    return shared_metrics
