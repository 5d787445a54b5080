"""Building large things aside without holding up what runs beside."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def undisturbed() -> Iterator[None]:
    """Keep the garbage collector away while a policy is built.

    It would walk through the hundred thousand unfinished lines again and again, and every request in flight
    would wait for it. Nothing in them is garbage, and what is left over is freed without it.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
