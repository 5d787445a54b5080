"""Prints the results of commands: JSON for programs, or lines for people.

Results contain texts from others: names, paths, files. A control character in them could move the cursor,
hide text or forge a line, so all control characters are removed here.
"""

import sys
from argparse import Namespace
from collections.abc import Callable, Iterable, Sequence
from itertools import starmap
from typing import Any, TextIO

from service.kernel.text import printable, printable_lines


def say(*lines: str, stream: TextIO | None = None) -> None:
    """Print each of ``lines`` to ``stream``, by default standard output, and a line feed behind it alone."""
    print("".join([f"{printable(line)}\n" for line in lines]), end="", file=stream or sys.stdout)


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


def show(
    options: Namespace, answer: Any, as_lines: Callable[[], Iterable[str]], *, source: str | None = None
) -> None:
    """Print ``answer`` as JSON if ``--json`` was given, else the lines that ``as_lines`` returns.

    The JSON is the ``data`` of the request that asks the same; a page is as long as the list. ``source`` says
    what was read for the answer: the first line, and the first member of the JSON.
    """
    if not options.json:
        say(*([] if source is None else [source_line(source)]), *as_lines())
        return
    import msgspec

    from service.web.messages.schema import WHOLE_LIST, json_text

    if getattr(answer, "size", None) == WHOLE_LIST:
        answer.size = answer.total
    text = json_text(answer)
    if source is not None:
        text = json_text({"source": source} | msgspec.json.decode(text))
    say_text(msgspec.json.format(text, indent=2).decode())


def source_line(source: str) -> str:
    """Return the first line of an answer: what was read for it."""
    return f"Source: {source}"
