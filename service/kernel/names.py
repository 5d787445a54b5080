"""Names of users and records: which are allowed, and which count as the same."""

from unicodedata import category, name, normalize

from service.kernel.text import SHAPING, unseen_fault

MAX_NAME_LENGTH = 64

# Private use and unassigned characters: nobody knows how they look (Unicode §4.5).
_UNKNOWN = frozenset({"Co", "Cn"})
_UNSHAPED = str.maketrans("", "", SHAPING)
# Scripts with letters that look alike, by the first word of a letter's Unicode name.
_ALIKE = frozenset({"LATIN", "GREEK", "COPTIC", "CYRILLIC", "ARMENIAN", "CHEROKEE"})


def name_key(text: str) -> str:
    """Return the key by which names are compared: names with equal keys are the same name.

    Compatibility caseless matching (Unicode §3.13, D146), so that ``ADMIN``, ``admin`` and ``admin`` in
    full-width letters are one name, and so are spellings with and without joiners. Letters of different
    scripts that look alike stay different: see ``name_fault``.
    """
    folded = normalize("NFD", text.translate(_UNSHAPED)).casefold()
    return normalize("NFKC", normalize("NFKD", folded).casefold())


def text_fault(text: str) -> str | None:
    """Return why ``text`` can't be a displayed name, as half a sentence ("must …"); None if it can."""
    if not 1 <= len(text) <= MAX_NAME_LENGTH:
        return f"must have 1 to {MAX_NAME_LENGTH} characters"
    if text != text.strip():
        return "must not begin or end with a space"
    if fault := unseen_fault(text):
        return fault
    if any(category(letter) in _UNKNOWN for letter in text):
        return "must not hold characters that are not known"
    return None


def name_fault(text: str) -> str | None:
    """Return why ``text`` can't be the name of a user, as half a sentence ("must …"); None if it can.

    Stricter than ``text_fault``: people tell names apart by eye, and type them. So a name has no joiners, and
    may not mix scripts whose letters look alike, as in ``admin`` with a Cyrillic first letter (UTS #39 §5.2).
    A name in one script is accepted.
    """
    if fault := text_fault(text):
        return fault
    if any(letter in SHAPING for letter in text):
        return "must not hold joiners or selectors"
    key = name_key(text)
    if "  " in key:
        return "must not hold two spaces in a row"
    if len({script for letter in key if (script := _script(letter)) in _ALIKE}) > 1:
        return "must not mix letters of scripts that look alike"
    return None


def _script(letter: str) -> str:
    return name(letter, "").partition(" ")[0] if category(letter)[0] == "L" else ""
