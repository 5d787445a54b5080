"""Sizes of the caches of a guarded request.

Each cache only saves work: with any of them off, or of size 1, every answer is the same. Tests show it by
the variable ``PORTCULLIS_TEST_CACHES``, such as ``tokens=0,decisions=1``. Operators have no use for it.
"""

import os
from typing import Final, Literal, get_args

VARIABLE: Final = "PORTCULLIS_TEST_CACHES"
"""The variable of tests that gives caches another size; 0 turns a cache off."""

Cache = Literal["tokens", "decisions", "resources"]
"""Verified tokens with their callers; decisions of a policy; canonical paths, which find resources."""


def cache_size(cache: Cache, usual: int) -> int:
    """Return the maximum size of ``cache``: ``usual``, or the value in ``VARIABLE``."""
    return _sizes(os.environ.get(VARIABLE, "")).get(cache, usual)


def _sizes(text: str) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for part in text.split(",") if text else ():
        name, _, size = part.strip().partition("=")
        if name not in get_args(Cache) or not size.isdecimal():
            raise ValueError(f"{VARIABLE} says {part!r}, which is not one of {get_args(Cache)} and a number")
        sizes[name] = int(size)
    return sizes
