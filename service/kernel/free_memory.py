"""Free memory that the allocator keeps for later use."""

from __future__ import annotations

import ctypes


def give_back_free_memory() -> None:
    """Return free memory to the system (malloc_trim(3)); takes milliseconds. Does nothing without glibc."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
