"""Names of users and records: which are allowed, and which count as the same."""

from __future__ import annotations

from unicodedata import category, name, normalize

MAX_NAME_LENGTH = 64

# Control, format, surrogate, private use and unassigned characters, and separators of lines (Unicode §4.5).
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
# Letters and marks that are not drawn (Default_Ignorable_Code_Point, Unicode §5.21), and the Braille blank.
_IGNORABLE = frozenset(
    {0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, *range(0x180B, 0x1810), 0x2800, 0x3164}
    | {*range(0xFE00, 0xFE10), 0xFFA0, *range(0xE0100, 0xE01F0)}
)
# Scripts with letters that look alike, by the first word of a letter's Unicode name.
_ALIKE = frozenset({"LATIN", "GREEK", "COPTIC", "CYRILLIC", "ARMENIAN", "CHEROKEE"})


def name_key(text: str) -> str:
    """Return the key by which names are compared: names with equal keys are the same name.

    Compatibility caseless matching (Unicode §3.13, D146), so that ``ADMIN``, ``admin`` and ``admin`` in
    full-width letters are one name. Letters of different scripts that look alike stay different:
    see ``name_fault``.
    """
    folded = normalize("NFD", text).casefold()
    return normalize("NFKC", normalize("NFKD", folded).casefold())


def text_fault(text: str) -> str | None:
    """Return why ``text`` can't be a displayed name, as half a sentence ("must …"); None if it can.

    Invisible characters are refused: they make different names look alike, or reverse the text.
    """
    if not 1 <= len(text) <= MAX_NAME_LENGTH:
        return f"must have 1 to {MAX_NAME_LENGTH} characters"
    if text != text.strip():
        return "must not begin or end with a space"
    if any(category(letter) in _UNSEEN or ord(letter) in _IGNORABLE for letter in text):
        return "must not hold characters that can't be seen"
    return None


def name_fault(text: str) -> str | None:
    """Return why ``text`` can't be the name of a user, as half a sentence ("must …"); None if it can.

    Stricter than ``text_fault``: people tell names apart by eye, so a name may not mix scripts whose letters
    look alike, as in ``admin`` with a Cyrillic first letter (UTS #39 §5.2). A name in one script is accepted.
    """
    if fault := text_fault(text):
        return fault
    key = name_key(text)
    if "  " in key:
        return "must not hold two spaces in a row"
    if len({script for letter in key if (script := _script(letter)) in _ALIKE}) > 1:
        return "must not mix letters of scripts that look alike"
    return None


def _script(letter: str) -> str:
    return name(letter, "").partition(" ")[0] if category(letter)[0] == "L" else ""
