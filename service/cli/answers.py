"""Prints an answer as JSON for programs, or as lines for people."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from service.cli.output import say, say_text
from service.web.messages.schema import WHOLE_LIST, json_text


def show(options: Namespace, answer: msgspec.Struct, as_lines: Callable[[], Iterable[str]]) -> None:
    """Print ``answer`` as JSON if ``--json`` was given, else the lines that ``as_lines`` returns.

    The JSON is the ``data`` of the request that asks the same; a page is as long as the list.
    """
    if options.json:
        shown: Any = answer
        if getattr(shown, "size", None) == WHOLE_LIST:
            shown.size = shown.total
        say_text(msgspec.json.format(json_text(shown), indent=2).decode())
    else:
        say(*as_lines())
