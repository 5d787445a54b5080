"""Text for people: untrusted text, made safe for one line or a spreadsheet, and numbers with their nouns."""

from __future__ import annotations

import re
from typing import Final

# C0 and C1 controls, DEL, surrogates, and Unicode's line separators and direction marks.
_CONTROLS: Final = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str) -> str:
    r"""Return ``text`` with control, line and direction characters as escapes, such as ``\x1b``."""
    return _CONTROLS.sub(lambda match: match[0].encode("unicode_escape").decode("ascii"), text)


def printable_lines(text: str) -> str:
    r"""Return ``text`` with the same characters but line feeds as escapes, such as ``\u001b``.

    JSON has the same escapes (RFC 8259 §7), so a JSON text keeps its meaning.
    """
    return "\n".join(
        _CONTROLS.sub(lambda match: f"\\u{ord(match[0]):04x}", line) for line in text.split("\n")
    )


def counted(number: int, noun: str) -> str:
    """Return ``number`` and a noun, in the plural unless the number is 1: ``3 users``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


# The characters that start a formula (OWASP, "CSV Injection"), full-width forms included, after any
# apostrophes added earlier.
_COMPUTED: Final = re.compile("'*[=+\\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")


def escape_formula(text: str) -> str:
    """Return ``text`` as a cell that no spreadsheet computes: a formula gets an apostrophe in front."""
    return f"'{text}" if _COMPUTED.match(text) else text


def unescape_formula(cell: str) -> str:
    """Return the text from which ``escape_formula`` made ``cell``; any other cell is returned unchanged."""
    return cell[1:] if cell.startswith("'") and _COMPUTED.match(cell) else cell
