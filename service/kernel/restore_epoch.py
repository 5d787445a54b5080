"""The timeline that this process serves: which restore of the database it goes on from."""

from __future__ import annotations

from typing import Final

FIRST: Final = ""
"""The timeline of a database from before timelines were kept: its tokens name none."""


class CurrentTimeline:
    """Holds the name of the database's timeline, as last read; None until it was read.

    A restore begins a new timeline, and ends every token of the one before. One object is shared by those
    who read it from the database and those who compare tokens with it.
    """

    __slots__ = ("name",)

    def __init__(self, name: str | None = None) -> None:
        self.name = name
