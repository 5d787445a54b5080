"""Numbers that the launcher and its workers share."""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterator
from mmap import mmap
from multiprocessing.reduction import DupFd
from typing import Any, Final

_TYPE: Final = "I"  # of array and memoryview: 32 bits, without a sign


class SharedNumbers:
    """Numbers from 0 to 2**32 - 1, each ``first`` in the beginning.

    They are in a file without a name (memfd_create(2)), handed to the processes that the launcher starts.
    What ``multiprocessing`` has for this needs a ``/dev/shm`` that can be written.
    """

    def __init__(self, count: int, first: int) -> None:
        content = array(_TYPE, [first] * count).tobytes()
        self._file = os.memfd_create("portcullis-numbers")
        os.write(self._file, content)
        self._numbers = memoryview(mmap(self._file, len(content))).cast(_TYPE)

    def __reduce__(self) -> tuple[Any, ...]:
        """Hand the file itself to a process that is being started."""
        return _handed, (DupFd(self._file),)

    def __getitem__(self, place: int) -> int:
        return self._numbers[place]

    def __setitem__(self, place: int, number: int) -> None:
        self._numbers[place] = number

    def __iter__(self) -> Iterator[int]:
        return iter(self._numbers)


def _handed(file: Any) -> SharedNumbers:
    numbers = SharedNumbers.__new__(SharedNumbers)
    numbers._file = file.detach()  # noqa: SLF001 - it is made here
    numbers._numbers = memoryview(mmap(numbers._file, 0)).cast(_TYPE)  # noqa: SLF001 - the same
    return numbers
