"""Table cells that a spreadsheet shows as text and does not compute (OWASP, "CSV Injection")."""

from __future__ import annotations

import re
from typing import Final

# The characters that start a formula, full-width forms included, after any apostrophes added earlier.
_COMPUTED: Final = re.compile("'*[=+\\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")


def escape_formula(text: str) -> str:
    """Return ``text`` as a cell that no spreadsheet computes: a formula gets an apostrophe in front."""
    return f"'{text}" if _COMPUTED.match(text) else text


def unescape_formula(cell: str) -> str:
    """Return the text from which ``escape_formula`` made ``cell``; any other cell is returned unchanged."""
    return cell[1:] if cell.startswith("'") and _COMPUTED.match(cell) else cell
