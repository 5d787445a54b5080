"""Names that people choose, and when two of them are the same."""

from __future__ import annotations

from unicodedata import category, normalize

MAX_NAME_LENGTH = 64

# Control, format, surrogate, private use and unassigned characters, and separators of lines (Unicode §4.5).
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def name_key(text: str) -> str:
    """Return what names are compared by: two names with one key are the same name.

    Compatibility caseless matching (Unicode §3.13, D146), so that ``ADMIN``, ``admin`` and ``admin`` in
    full-width letters are one name. Letters of different scripts that look alike stay different.
    """
    folded = normalize("NFD", text).casefold()
    return normalize("NFKC", normalize("NFKD", folded).casefold())


def name_fault(text: str) -> str | None:
    """Return half a sentence ("must …") on why ``text`` can't be the name of a user, None when it can.

    Names are shown to people and compared by ``name_key``: what can't be seen has no place in them.
    """
    if not 1 <= len(text) <= MAX_NAME_LENGTH:
        return f"must have 1 to {MAX_NAME_LENGTH} characters"
    if text != text.strip():
        return "must not begin or end with a space"
    if any(category(letter) in _UNSEEN for letter in text):
        return "must not hold characters that can't be seen"
    return None
