"""A document of sections, tables and listings, which is written as HTML or as Markdown.

Every text in it is plain: only the two writers know what their format needs to be escaped.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from service.kernel.text import replaced

Tone = Literal["", "good", "attention", "muted"]
"""Whether something is in order. The words of a cell say it too: paper and readers may lack colours."""


@dataclass(frozen=True, slots=True)
class Cell:
    """The text of a table cell, or its lines; ``code`` is for lines, requests and permission codes.

    A line feed inside a text is a character that can't be seen, and makes no line.
    """

    text: str | Sequence[str]
    code: bool = False
    tone: Tone = ""

    @property
    def lines(self) -> Sequence[str]:
        """The lines, at least one unless the cell is empty."""
        return [self.text] if isinstance(self.text, str) else self.text


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Some sentences."""

    text: str


@dataclass(frozen=True, slots=True)
class Listing:
    """A file, or a part of one, as it stands; lines that start with ``#`` are comments if ``comments``."""

    text: str
    comments: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """A table; the first cell of each row is its head."""

    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[Cell]]


@dataclass(frozen=True, slots=True)
class Form:
    """Labels, each with room to write by hand."""

    labels: Sequence[str]


Block: TypeAlias = Paragraph | Listing | Table | Form


@dataclass(slots=True)
class Section:
    """A section; ``anchor`` names it in links."""

    anchor: str
    title: str
    blocks: list[Block] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Document:
    """A title, a sentence under it, and sections."""

    title: str
    subtitle: str
    sections: Sequence[Section]


def readable_time(at: str) -> str:
    """Return a time of RFC 3339 in UTC, such as ``2026-11-22T03:01:21.461Z``, for people, to the second."""
    return f"{at[:10]} {at[11:19]} UTC"


def visible(text: str) -> str:
    """Return ``text`` in one line; a character that can't be seen becomes its number, such as ``<U+202E>``.

    Some of them reverse or hide what follows, so that a name could look like another one (Unicode TR 36).
    """
    return replaced(text, lambda character: f"<U+{ord(character):04X}>")
