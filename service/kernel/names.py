"""Names that people choose, and when two of them are the same."""

from __future__ import annotations

from unicodedata import normalize


def name_key(text: str) -> str:
    """Return what names are compared by: two names with one key are the same name.

    Compatibility caseless matching (Unicode §3.13, D146), so that ``ADMIN``, ``admin`` and ``admin`` in
    full-width letters are one name. Letters of different scripts that look alike stay different.
    """
    folded = normalize("NFD", text).casefold()
    return normalize("NFKC", normalize("NFKD", folded).casefold())
