"""Names of uploaded files: kept as data, never used as a path."""

from __future__ import annotations

from typing import Final
from unicodedata import category

MAX_BYTES: Final = 255
"""The longest name in UTF-8: what file systems take, so that a download can be saved under it."""

# Controls, surrogates, separators of lines and format characters: among the last those that turn the
# direction of writing (Unicode standard annex 9), which make "exe.gpj" of a name that ends with "jpg.exe".
_UNSEEN: Final = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_JOINERS: Final = "\u200c\u200d"  # Persian and Indic words need them, and so do many emoji


def file_name_fault(name: str) -> str | None:
    """Return half a sentence ("must …") on why a file can't have ``name``, None when it can.

    A path is refused, not cut: whoever sends one means something that is not done.
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
        return "must have a file name that neither begins nor ends with a space, nor ends with a point"
    return None
