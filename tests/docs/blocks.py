"""The code blocks of the pages: which test runs each, and how blocks are run and compared.

A comment says who runs the blocks behind it, up to the next such comment or the end of the page:
``<!-- blocks: run by tests/docs/test_guides.py -->``, or ``<!-- blocks: not run: why -->``.
"""

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

END = "<<end of step>>"
"""What a script prints after each step."""

_PARTS = re.compile(
    r"^<!-- blocks: (?P<mark>(?:(?!-->).)*?)\s-->$|^(?P<indent> *)```(?P<kind>[\w+-]*)\n(?P<text>.*?)^ *```$",
    re.DOTALL | re.MULTILINE,
)


class Block(NamedTuple):
    """A fenced block of a page: its language, its text, and the mark that holds for it; "" without one."""

    kind: str
    text: str
    mark: str


def blocks(page: Path) -> list[Block]:
    """Return the blocks of ``page`` in their order."""
    return parsed(page.read_text(encoding="utf-8"))


def parsed(text: str) -> list[Block]:
    """Return the blocks of the Markdown ``text`` in their order."""
    collected, mark = [], ""
    for part in _PARTS.finditer(text):
        if part["mark"] is not None:
            mark = " ".join(part["mark"].split())
        else:
            collected.append(Block(part["kind"], part["text"], mark))
    return collected


class Step(NamedTuple):
    """The commands of one block, and what the block behind it shows as their output; "" without one."""

    commands: str
    kind: str
    shown: str


def steps(of: Iterable[Block]) -> list[Step]:
    """Return the sh blocks, each with the block of its output, which follows it."""
    collected: list[Step] = []
    for block in of:
        if block.kind == "sh":
            collected.append(Step(block.text, "", ""))
        else:
            assert collected[-1].shown == "", "two outputs of one block"
            collected[-1] = Step(collected[-1].commands, block.kind, block.text)
    return collected


def script(of: Iterable[Step]) -> str:
    """Return a program for bash that takes the steps and prints ``END`` after each."""
    return "".join(f"{step.commands}printf '%s\\n' '{END}'\n" for step in of)


def check(step: Step, output: str) -> None:
    """Assert that a step wrote what its page shows, and nothing otherwise; … stands for any characters."""
    if step.kind == "json":
        assert is_like(json.loads(step.shown), json.loads(output)), output
    else:
        pattern = ".+".join(map(re.escape, step.shown.rstrip("\n").split("…")))
        assert re.fullmatch(pattern, output.rstrip("\n"), re.DOTALL), output


def is_like(shown: Any, actual: Any) -> bool:
    """Tell whether ``actual`` is what is shown, where an … in a text stands for any characters."""
    if isinstance(shown, dict) and isinstance(actual, dict):
        return list(shown) == list(actual) and all(is_like(shown[name], actual[name]) for name in shown)
    if isinstance(shown, list) and isinstance(actual, list):
        return len(shown) == len(actual) and all(map(is_like, shown, actual))
    if isinstance(shown, str) and isinstance(actual, str):
        return re.fullmatch(".+".join(map(re.escape, shown.split("…"))), actual) is not None
    return type(shown) is type(actual) and shown == actual
