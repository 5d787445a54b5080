"""Prints what a command has found: as text for people, or as JSON."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Iterable, Sequence
from itertools import starmap
from typing import Any

import msgspec

from service.web.messages.schema import WHOLE_LIST, json_text


def say(text: str) -> None:
    """Print ``text`` and a line feed to standard output."""
    print(text)


def show(options: Namespace, answer: msgspec.Struct, as_text: Callable[[], str]) -> None:
    """Print ``answer`` as JSON if ``--json`` was given, else what ``as_text`` returns.

    The JSON is the ``data`` of the request that asks the same; a page is as long as the list.
    """
    if options.json:
        shown: Any = answer
        if getattr(shown, "size", None) == WHOLE_LIST:
            shown.size = shown.total
        say(msgspec.json.format(json_text(shown), indent=2).decode())
    else:
        say(as_text())


def aligned(rows: Iterable[Sequence[str]], *, indent: str = "") -> str:
    """Return ``rows`` of equally many cells as lines with aligned columns; empty without a row."""
    listed = list(rows)
    widths = [max(map(len, column)) for column in zip(*listed, strict=True)]
    return "\n".join(
        (indent + "  ".join(starmap(str.ljust, zip(cells, widths, strict=True)))).rstrip() for cells in listed
    )
