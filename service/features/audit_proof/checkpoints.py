"""Heads of chains as the session store keeps them, outside the database."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Final

_LOST: Final = "lost"

Place = tuple[str, date, str]
"""A chain: its log, its day, and the id of its key."""


@dataclass(frozen=True, slots=True)
class AnchoredCheckpoint:
    """An exported head: the number and hash of the last entry of a chain, in one timeline."""

    restore_epoch: str
    log: str
    day: date
    key_id: str
    number: int
    hash: str

    @property
    def place(self) -> Place:
        """The chain that it is the head of."""
        return self.log, self.day, self.key_id


def place_of(restore_epoch: str, log: str, day: date, key_id: str) -> str:
    """Return the name under which the session store keeps the head of a chain."""
    return f"{restore_epoch} {log} {day} {key_id}"


def stored_checkpoints(kept: Mapping[str, str]) -> list[AnchoredCheckpoint]:
    """Read the checkpoints in the session store; entries of another form are skipped."""
    heads = []
    for place, value in kept.items():
        try:
            restore_epoch, log, day, key_id = place.removesuffix(f" {_LOST}").split(" ")
            number, link = value.split(" ")
            heads.append(
                AnchoredCheckpoint(restore_epoch, log, date.fromisoformat(day), key_id, int(number), link)
            )
        except ValueError:
            continue
    return heads
