"""Batches of entries: how they are encoded while requests go on, and how an attempt to send one may fail."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

import structlog

from service.audit.export.entry import Entry
from service.kernel.cooperative_yield import CooperativeYield


class Failed(Exception):  # noqa: N818 - an outcome that the sender handles
    """The batch was not taken; it may be later. The message says why, and holds no secret.

    ``retry_after`` is what the receiver asked for, in seconds. ``internal``: it has failed itself.
    """

    def __init__(self, reason: str, *, retry_after: float | None = None, internal: bool = False) -> None:
        super().__init__(reason)
        self.retry_after = retry_after
        self.internal = internal


class Refused(Failed):
    """The receiver does not take the batch as it is, or it can't be encoded: one entry may be the cause."""


Encoding: TypeAlias = Callable[[Entry], bytes]
"""Returns an entry as one line of JSON, without a line feed."""

_log = structlog.get_logger(__name__)
_PART: Final = 20  # entries encoded between two yields to the event loop


async def encoded_all(entries: Sequence[Entry], encoding: Encoding) -> list[bytes]:
    """Return ``entries`` as ``encoding`` writes them; gives way to others every few entries.

    Raises Refused for an entry that can't be written so: it must not hold up the others.
    """
    encoded, pauses = [], CooperativeYield()
    for place, entry in enumerate(entries):
        try:
            encoded.append(encoding(entry))
        except Exception as error:  # noqa: BLE001 - a fault of ours in one of many forms
            _log.exception("an entry can't be encoded", log=entry.log, id=entry.id)
            raise Refused(f"the entry can't be encoded: {type(error).__name__}") from None
        if place % _PART == _PART - 1:
            await pauses.give_way()
    return encoded
