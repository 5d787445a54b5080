"""Times in the format of the API, ids sorted by time, and limits on the frequency of work."""

import os
import time
from collections.abc import Callable
from datetime import UTC, datetime
from time import monotonic
from uuid import UUID


def now() -> datetime:
    """Return the current time as an aware UTC datetime."""
    return datetime.now(UTC)


def rfc3339(moment: datetime) -> str:
    """Return ``moment`` (aware) in RFC 3339, UTC, with milliseconds: ``2026-11-21T02:33:53.123Z``."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def from_seconds(seconds: float) -> datetime:
    """Return the aware UTC time of ``seconds`` since the epoch."""
    return datetime.fromtimestamp(seconds, UTC)


class TextClock:
    """Formats the time that ``now`` returns, in seconds since the epoch, for lines of logs.

    The text of a second is kept: many lines are written in it, on a fast machine as on a slow one.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._second = -1  # of the text
        self._text = ""

    def text(self) -> str:
        """Return the time in RFC 3339, UTC, with milliseconds, rounded down."""
        moment = int(self._now() * 1000)
        second = moment // 1000
        if second != self._second:
            self._second, self._text = second, rfc3339(from_seconds(second)).removesuffix("000Z")
        return f"{self._text}{moment % 1000:03}Z"


def whole_milliseconds(moment: datetime) -> datetime:
    """Return ``moment`` in whole milliseconds, as answers show times, rounded down."""
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)


class AtMostEvery:
    """Limit work to the first time, and then once in ``seconds`` at most.

    For log lines about frequent events.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._next = float("-inf")

    def due(self) -> bool:
        """Return whether it may be done now; after True, False for the next ``seconds``."""
        if (now := monotonic()) < self._next:
            return False
        self._next = now + self._seconds
        return True


_AT_ONCE = 256
_drawn: list[int] = []
os.register_at_fork(after_in_child=_drawn.clear)  # or two processes would create the same ids

_VERSION = 7 << 76
_VARIANT = 2 << 62
_RANDOM_A = (1 << 12) - 1
_RANDOM_B = (1 << 62) - 1


def new_event_id() -> UUID:
    """Return a UUID of version 7 (RFC 9562 §5.7): milliseconds since the epoch, then 74 random bits.

    Random ids would spread the reads and writes of an index over all its pages; these append at its end.
    """
    return UUID(int=time.time_ns() // 1_000_000 << 80 | _all_but_time())


def _all_but_time() -> int:
    """Return an id without its time; many are drawn at once, since each draw is a call of the system."""
    while True:
        try:
            return _drawn.pop()  # atomic: no two threads get the same
        except IndexError:
            block = os.urandom(10 * _AT_ONCE)
            numbers = (int.from_bytes(block[at : at + 10]) for at in range(0, len(block), 10))
            _drawn.extend(
                _VERSION | (number >> 62 & _RANDOM_A) << 64 | _VARIANT | number & _RANDOM_B
                for number in numbers
            )
