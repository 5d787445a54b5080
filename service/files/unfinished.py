"""Temporary files of a local store: objects that were not completely written."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


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
