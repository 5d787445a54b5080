"""What the operating system tells of a worker's process, and when it began to serve."""

from __future__ import annotations

import os
import platform
import resource
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

from service import __version__
from service.kernel.metrics import Sample

_PAGE: Final = os.sysconf("SC_PAGE_SIZE")


class Process:
    """The process of one worker; create it when the worker begins, and call ``serves`` when it serves."""

    def __init__(self) -> None:
        self._started = time.time()
        self._begun = time.monotonic()
        self._took: float | None = None

    def serves(self) -> None:
        """Take note that the worker has started."""
        self._took = time.monotonic() - self._begun

    def samples(self) -> Iterator[Sample]:
        """Yield what the process is, has used and has open."""
        yield Sample(
            "portcullis_build_info", 1, {"version": __version__, "python": platform.python_version()}
        )
        yield Sample("portcullis_start_timestamp_seconds", self._started, {})
        if self._took is not None:
            yield Sample("portcullis_start_duration_seconds", self._took, {})
        usage = resource.getrusage(resource.RUSAGE_SELF)
        yield Sample("portcullis_cpu_seconds_total", usage.ru_utime + usage.ru_stime, {})
        with suppress(OSError), open("/proc/self/statm", "rb") as numbers:  # noqa: PTH123 - read with each snapshot
            yield Sample("portcullis_resident_memory_bytes", int(numbers.read().split()[1]) * _PAGE, {})
        with suppress(OSError):
            yield Sample("portcullis_open_files", len(os.listdir("/proc/self/fd")), {})  # noqa: PTH208 - as above
        yield Sample("portcullis_open_files_limit", resource.getrlimit(resource.RLIMIT_NOFILE)[0], {})
