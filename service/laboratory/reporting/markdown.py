"""Write a document as Markdown (GitHub Flavored Markdown), with all texts escaped."""

import re
from collections.abc import Iterable
from functools import singledispatch

from service.laboratory.reporting.document import (
    Cell,
    Document,
    Form,
    Listing,
    Paragraph,
    Table,
    visible,
)

_SPECIAL = re.compile(
    r"[\\`*_\[\]<>|&~$]"  # starts a span, a link, an element or a cell anywhere
    r"|^[#+=-]"  # starts a block
    r"|:(?=//)|(?<=www)\.",  # makes an address a link
)
_NUMBERED = re.compile(r"^(\d+)([.)])")
_BLANK = r"\_" * 20


def as_markdown(document: Document) -> str:
    """Return ``document`` as a Markdown page, with all texts escaped."""
    parts = [f"# {_text(document.title)}", _text(document.subtitle)]
    for section in document.sections:
        parts += [f"## {_text(section.title)}", *map(_block, section.blocks)]
    return "\n\n".join(parts) + "\n"


@singledispatch
def _block(block: object) -> str:
    raise TypeError(type(block))


@_block.register
def _(block: Paragraph) -> str:
    return _text(block.text)


@_block.register
def _(block: Listing) -> str:
    lines = [visible(line) for line in block.text.splitlines()]
    fence = "`" * max(3, _longest_run(block.text) + 1)
    return "\n".join([f"{fence}text", *lines, fence])


@_block.register
def _(block: Table) -> str:
    head = [f"**{_text(block.caption)}**", "", _row(map(_text, block.head)), _row("---" for _ in block.head)]
    return "\n".join([*head, *(_row(map(_cell, row)) for row in block.rows)])


@_block.register
def _(block: Form) -> str:
    return "\n".join(f"- {_text(label)}: {_BLANK}" for label in block.labels)


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(cell: Cell) -> str:
    return "<br>".join(map(_code if cell.code else _text, cell.lines))


def _code(text: str) -> str:
    # A ``|`` would end the cell even in a code span.
    return code_span(visible(text).replace("|", r"\|")) if text else ""


def code_span(text: str) -> str:
    """Return the readable ``text`` as a code span, whatever backticks it holds (CommonMark §6.1)."""
    ticks = "`" * (_longest_run(text) + 1)
    return f"{ticks} {text} {ticks}" if "`" in text else f"{ticks}{text}{ticks}"


def _longest_run(text: str) -> int:
    return max(map(len, re.findall("`+", text)), default=0)


def _text(text: str) -> str:
    escaped = _SPECIAL.sub(r"\\\g<0>", visible(text))
    return _NUMBERED.sub(r"\1\\\2", escaped)
