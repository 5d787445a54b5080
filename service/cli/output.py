"""Prints what a command has found.

Much of it others have written: names, paths, files. A control character in it could move the cursor, hide
what stands before it or make a line that nobody has written, so all that is printed loses them here.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from itertools import starmap
from typing import TextIO

from service.kernel.text import printable, printable_lines


def say(*lines: str, stream: TextIO | None = None) -> None:
    """Print each of ``lines`` to ``stream``, by default standard output, and a line feed behind it alone."""
    for line in lines:
        print(printable(line), file=stream or sys.stdout)


def say_text(text: str, *, stream: TextIO | None = None) -> None:
    """Print a text of several lines, such as JSON, and a line feed."""
    print(printable_lines(text), file=stream or sys.stdout)


def aligned(rows: Iterable[Sequence[str]], *, indent: str = "") -> list[str]:
    """Return ``rows`` of equally many cells as lines with aligned columns; none without a row."""
    listed = [tuple(map(printable, cells)) for cells in rows]
    widths = [max(map(len, column)) for column in zip(*listed, strict=True)]
    return [
        (indent + "  ".join(starmap(str.ljust, zip(cells, widths, strict=True)))).rstrip() for cells in listed
    ]
