"""Names of uploaded files: stored as data, never used as a path."""

from __future__ import annotations

from typing import Final

from service.kernel.unseen import first_unseen

MAX_BYTES: Final = 255
"""Bytes of the longest name in UTF-8: the limit of file systems, so that downloads can be saved."""


def file_name_fault(name: str) -> str | None:
    """Return why a file can't have ``name``, as a phrase that starts with "must"; None if it can.

    A path is refused, not shortened to its last part: the client expects something that is not done.
    """
    if not name:
        return "must have a file name"
    if len(name.encode(errors="replace")) > MAX_BYTES:
        return f"must have a file name of at most {MAX_BYTES} bytes"
    if first_unseen(name) is not None:  # a name that ends with "jpg.exe" can look like "exe.gpj"
        return "must have a file name without characters that can't be seen"
    if "/" in name or "\\" in name:
        return "must have a file name, not a path"
    if name != name.strip() or name.endswith("."):
        return "must have a file name that neither begins nor ends with a space, nor ends with a dot"
    return None
