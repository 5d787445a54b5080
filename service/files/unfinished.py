"""Files that a local directory holds beside its objects: objects that were not written to their end."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Unfinished:
    """What was written of the object ``key`` by a process that died since, or goes on with it."""

    key: str
    place: Path

    def remove(self) -> None:
        """Delete it; nothing happens when it has been finished meanwhile."""
        self.place.unlink(missing_ok=True)


def unfinished_in(directory: Path, prefix: str) -> list[Unfinished]:
    """Return what is unfinished below ``prefix`` of a local store.

    obstore writes an object under its name, ``#`` and a number, and renames it at the end; it never lists it.
    """
    return [
        Unfinished(f"{prefix}/{place.name.partition('#')[0]}", place)
        for place in (directory / prefix).glob("*#*")
    ]
