"""Names of uploaded files: stored as data, never used as a path."""

from __future__ import annotations

from typing import Final
from unicodedata import category

MAX_BYTES: Final = 255
"""Bytes of the longest name in UTF-8: the limit of file systems, so that downloads can be saved."""

# Controls, surrogates, line separators and format characters. The last ones include bidirectional controls
# (Unicode standard annex 9), which make a name that ends with "jpg.exe" look like "exe.gpj".
_UNSEEN: Final = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_JOINERS: Final = "\u200c\u200d"  # Persian and Indic words need them, and so do many emoji


def file_name_fault(name: str) -> str | None:
    """Return why a file can't have ``name``, as a phrase that starts with "must"; None if it can.

    A path is refused, not shortened to its last part: the client expects something that is not done.
    """
    if not name:
        return "must have a file name"
    if len(name.encode(errors="replace")) > MAX_BYTES:
        return f"must have a file name of at most {MAX_BYTES} bytes"
    if any(category(one) in _UNSEEN and one not in _JOINERS for one in name):
        return "must have a file name without characters that can't be seen"
    if "/" in name or "\\" in name:
        return "must have a file name, not a path"
    if name != name.strip() or name.endswith("."):
        return "must have a file name that neither begins nor ends with a space, nor ends with a dot"
    return None
