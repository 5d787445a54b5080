"""What a refusal was about, so that roles can be named that would open it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

MOST_ROLES: Final = 20
"""The most roles that are named."""


@dataclass(frozen=True, slots=True)
class Refused:
    """What was refused: the objects of layers that must all open, or any one of them."""

    objects: Sequence[tuple[str, str]]
    any_one: bool = False
