"""Refused reads on their way to the operation log: the first at once, repetitions as one further entry."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Final

from msgspec.structs import replace

from service.records.logs.events import OperationEvent

WITHIN: Final = 60.0
"""Seconds after a refusal in which the same one is only counted."""
MOST: Final = 1024
"""Refusals of which one worker counts the repetitions at a time."""


@dataclass(slots=True)
class _Counted:
    """The repetitions of a refusal: the first one, how many there were, and when they are entered."""

    until: float
    event: OperationEvent | None = None
    number: int = 0


class RefusedReads:
    """Hands entries to ``record``, which returns at once and raises nothing.

    A caller who asks for the same again and again makes two entries a minute and not one for each request.
    Memory is bounded: when too many differ, the oldest is entered and forgotten before its minute is over.
    """

    def __init__(
        self, record: Callable[[OperationEvent], None], *, within: float = WITHIN, most: int = MOST
    ) -> None:
        """``within`` is in seconds."""
        self._record = record
        self._within = within
        self._most = most
        self._counted: OrderedDict[Hashable, _Counted] = (
            OrderedDict()
        )  # by the time of the first, the oldest first
        self._timer: asyncio.TimerHandle | None = None

    def note(self, refusal: Hashable, event_of: Callable[[], OperationEvent]) -> None:
        """Enter a refusal, or count it: those are equal whose ``refusal`` is. Never waits.

        To be called in the event loop; raises what ``event_of`` raises.
        """
        counted = self._counted.get(refusal)
        if counted is not None:
            if counted.event is None:
                counted.event = event_of()
            counted.number += 1
            return
        self._record(event_of())
        if len(self._counted) >= self._most:
            self._enter_oldest()
        loop = asyncio.get_running_loop()
        self._counted[refusal] = _Counted(loop.time() + self._within)
        if self._timer is None:
            self._timer = loop.call_later(self._within, self._enter_due)

    def finish(self) -> None:
        """Enter all that was counted."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        while self._counted:
            self._enter_oldest()

    def _enter_due(self) -> None:
        self._timer = None
        loop = asyncio.get_running_loop()
        while self._counted:
            oldest = next(iter(self._counted.values()))
            if oldest.until > loop.time():
                self._timer = loop.call_at(oldest.until, self._enter_due)
                return
            self._enter_oldest()

    def _enter_oldest(self) -> None:
        _, counted = self._counted.popitem(last=False)
        if counted.event is not None:
            self._record(replace(counted.event, repetitions=counted.number))
