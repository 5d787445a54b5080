"""The restore epoch that this process serves: which restore of the database it goes on from."""

from dataclasses import dataclass
from typing import Final

FIRST: Final = ""
"""The restore epoch of a database from before restore epochs were kept: its tokens name none."""


@dataclass(slots=True, eq=False, repr=False)
class CurrentRestoreEpoch:
    """Holds the name of the database's restore epoch, as last read; None until it was read.

    A restore begins a new restore epoch, and ends every token of the one before. One object is shared by
    those who read it from the database and those who compare tokens with it.
    """

    name: str | None = None
