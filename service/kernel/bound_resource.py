"""A resource with what is bound to it, as records give it and as policy lines are derived from it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class BoundResource(NamedTuple):
    """An enabled resource with all its Buttons, as code and whether enabled, sorted by code."""

    method: str
    path: str
    buttons: Sequence[tuple[str, bool]]
