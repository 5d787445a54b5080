"""What makes the collection of all tests cheaper."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_COLLECT_AFTER: Final = 10_000, 20, 20
"""More objects than Python's default of 700: a test leaves little garbage."""


@contextmanager
def spared_garbage() -> Iterator[None]:
    """Look for no garbage during the collection, and never among what it has made: that stays to the end."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.set_threshold(*_COLLECT_AFTER)
        gc.enable()
