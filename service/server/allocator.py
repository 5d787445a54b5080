"""How the workers' memory is allocated, by the environment of glibc (mallopt(3), glibc manual §39.2).

A password hash needs 19 MiB for some milliseconds. By default each thread has an arena of its own, from which
they never return. Mapped anew for each hash they return at once, but the kernel clears 4,865 pages each time,
which takes half as long as the hash itself. So they stay in the one arena of the process, in huge pages, and
are given back when no hash was made for some seconds (``authn.passwords``).
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Mapping
from typing import Final

_PR_SET_THP_DISABLE: Final = 41  # linux/prctl.h

MALLOC: Final[Mapping[str, str]] = {
    "MALLOC_ARENA_MAX": "1",
    "MALLOC_MMAP_THRESHOLD_": str(32 * 1024 * 1024),  # bytes; glibc allows no more
    "MALLOC_TRIM_THRESHOLD_": str(128 * 1024 * 1024),
    "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1",  # since glibc 2.35: madvise(2) for transparent huge pages
}
"""Variables that are in the environment of a worker, unless the operator has set them."""


def use_huge_pages(*, enabled: bool) -> None:
    """Let this process and the children that it forks from now on have huge pages, or not (prctl(2)).

    Does nothing elsewhere than on Linux.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_THP_DISABLE, int(not enabled), 0, 0, 0)
