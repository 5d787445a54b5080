"""Cells of tables that a spreadsheet shows and does not compute (OWASP, "CSV Injection")."""

from __future__ import annotations

import re
from typing import Final

# What starts a formula, its full-width forms as well; before it, apostrophes that were put there.
_COMPUTED: Final = re.compile("'*[=+\\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")


def shown(text: str) -> str:
    """Return ``text`` as a cell that no spreadsheet computes: with an apostrophe before a formula."""
    return f"'{text}" if _COMPUTED.match(text) else text


def meant(cell: str) -> str:
    """Return the text of which ``cell`` was made by ``shown``; a cell that nobody made so stays as it is."""
    return cell[1:] if cell.startswith("'") and _COMPUTED.match(cell) else cell
