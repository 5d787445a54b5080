"""A document of sections, tables and listings, written as HTML or Markdown.

All texts are plain; the two writers escape them for their format.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from service.kernel.text import replaced

Tone = Literal["", "good", "attention", "muted"]
"""The assessment of a cell. The text states it too, because paper and readers may lack colours."""


@dataclass(frozen=True, slots=True)
class Cell:
    """The text of a table cell, or its lines; ``code`` is for lines, requests and permission codes.

    A line feed inside a text is an invisible character, and starts no line.
    """

    text: str | Sequence[str]
    code: bool = False
    tone: Tone = ""

    @property
    def lines(self) -> Sequence[str]:
        """Return the lines, at least one unless the cell is empty."""
        return [self.text] if isinstance(self.text, str) else self.text


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Some sentences."""

    text: str


@dataclass(frozen=True, slots=True)
class Listing:
    """A file, or a part of one, verbatim; with ``comments``, lines that start with ``#`` are comments."""

    text: str
    comments: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """A table; the first cell of each row is its header. Large tables compute ``rows`` when written."""

    caption: str
    head: Sequence[str]
    rows: Iterable[Sequence[Cell]]


@dataclass(frozen=True, slots=True)
class Form:
    """Labels, each with room for handwriting."""

    labels: Sequence[str]


Block: TypeAlias = Paragraph | Listing | Table | Form


@dataclass(slots=True)
class Section:
    """A section; ``anchor`` is its link target."""

    anchor: str
    title: str
    blocks: list[Block] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Document:
    """A title, a subtitle, and sections."""

    title: str
    subtitle: str
    sections: Sequence[Section]


def readable_time(at: str) -> str:
    """Return a time of RFC 3339 in UTC, such as ``2026-11-22T03:01:21.461Z``, readable, in seconds."""
    return f"{at[:10]} {at[11:19]} UTC"


def visible(text: str) -> str:
    """Return ``text`` in one line; invisible characters become numbers, such as ``<U+202E>``.

    Some of them reverse or hide the text after them, and could disguise a name (Unicode TR 36).
    """
    return replaced(text, lambda character: f"<U+{ord(character):04X}>")
