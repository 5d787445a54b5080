"""The restore epoch that this process serves: which restore of the database it goes on from."""

from __future__ import annotations

from typing import Final

FIRST: Final = ""
"""The restore epoch of a database from before restore epochs were kept: its tokens name none."""


class CurrentRestoreEpoch:
    """The name of the database's restore epoch, as last read, shared by readers; None until then."""

    __slots__ = ("name",)

    def __init__(self, name: str | None = None) -> None:
        self.name = name
