"""Memory shared by the workers of a node: each worker writes its counts, and any worker reads all."""

import os
from multiprocessing.reduction import DupFd
from struct import Struct
from time import monotonic
from typing import Any, Final
from zlib import crc32

LONGEST: Final = 2 * 1024 * 1024
"""Bytes of a snapshot at the most. Memory is used for those that are written only."""
FRESH: Final = 15.0
"""Seconds without a new snapshot after which a worker counts as gone."""

_HEAD: Final = Struct("<dII")  # written at (seconds since boot), length, checksum of the content
_PLACE: Final = _HEAD.size + LONGEST
_PLACES: Final = 2  # of a slot: one is whole while the other is being written


class SharedMetrics:
    """The latest snapshot of each worker; a worker has a slot, from 1 to ``slots``.

    It is a file without a name (memfd_create(2)), handed to the processes that the launcher starts. It needs
    no store, so that metrics can be read while one is out of reach, and ends with the node.
    """

    def __init__(self, slots: int) -> None:
        self.slots = slots
        self._file = os.memfd_create("portcullis-metrics")

    def __reduce__(self) -> tuple[Any, ...]:
        """Hand the file itself to a process that is being started."""
        return _handed, (self.slots, DupFd(self._file))

    def write(self, slot: int, snapshot: bytes) -> None:
        """Replace the snapshot of a slot; only its worker may. Raises ValueError if it is too long."""
        if len(snapshot) > LONGEST:
            raise ValueError(f"a snapshot of {len(snapshot)} bytes has no room")
        places = [(self._head(place)[0], place) for place in self._places(slot)]
        older = min(places)[1]
        os.pwrite(self._file, _HEAD.pack(monotonic(), len(snapshot), crc32(snapshot)) + snapshot, older)

    def clear(self, slot: int) -> None:
        """Forget the snapshot of a slot: its worker ends."""
        for place in self._places(slot):
            os.pwrite(self._file, bytes(_HEAD.size), place)

    def read(self) -> dict[int, bytes]:
        """Return the latest snapshots of the workers that run, by slot."""
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
        head = os.pread(self._file, _HEAD.size, place).ljust(
            _HEAD.size, b"\0"
        )  # nothing was written there yet
        written, length, checksum = _HEAD.unpack(head)
        return written, length, checksum

    def _whole(self, place: int) -> tuple[float, bytes] | None:
        """Return when a snapshot was written, and the snapshot; None if it is old, or being written."""
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
