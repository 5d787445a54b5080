"""Text for people: untrusted text made safe to show, unseen characters, numbers with nouns.

Some characters make different texts look alike. Some reverse the surrounding text, so that ``user`` and the
text behind it read differently (Unicode TR 36 §2, UAX #9). All texts have one rule, whatever their source.
"""

import re
from collections.abc import Callable
from typing import Final, Self
from unicodedata import category, name, normalize

from service.kernel.coded_sentences import Sentence
from service.kernel.core_sentences import sentence
from service.kernel.domains import plain_address

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


def column_letters(place: int) -> str:
    """Return the spreadsheet letters of a column, whose position is counted from 0."""
    name = ""
    while place >= 0:
        name = chr(ord("A") + place % 26) + name
        place = place // 26 - 1
    return name


SHAPING: Final = "\u200c\u200d\ufe0e\ufe0f"
"""The joiners, and the selectors of text or emoji: visible by their effect on neighbouring characters."""

# Control and format characters, surrogates, and separators of lines (Unicode §4.5). Those that change the
# direction are format characters.
_UNSEEN: Final = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})

_JOINER: Final = "\u200d"
_SELECTORS: Final = "\ufe0e\ufe0f"
# Letters and marks that are not drawn (Default_Ignorable_Code_Point, Unicode §5.21), and the Braille blank.
_NOT_DRAWN: Final = frozenset(
    {0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, *range(0x180B, 0x1810), 0x2800, 0x3164}
    | {*range(0xFE00, 0xFE10), 0xFFA0, *range(0xE0100, 0xE01F0)}
)
# Scripts whose words are spelt with joiners (UAX #31 §2.3), by the first word of a letter's Unicode name.
_JOINING: Final = frozenset(
    {"ARABIC", "SYRIAC", "MANDAIC", "NKO", "MONGOLIAN", "DEVANAGARI", "BENGALI", "GURMUKHI", "GUJARATI"}
    | {"ORIYA", "TAMIL", "TELUGU", "KANNADA", "MALAYALAM", "SINHALA", "KHMER", "MYANMAR", "TIBETAN"}
)
_LINES: Final = "\t\n\r"


def unseen_fault(text: str, *, lines: bool = False) -> Sentence | None:
    """Return why ``text`` can't be shown to people, as half a sentence ("must …"); None if it can.

    ``lines``: it may have several lines, and tabs.
    """
    character = first_unseen(text, lines=lines)
    return None if character is None else unseen(character)


def unseen(character: str) -> Sentence:
    """Return the fault of a text with ``character``, which can't be seen."""
    return sentence("unseen_character", character=f"U+{ord(character):04X}")


def first_unseen(text: str, *, lines: bool = False) -> str | None:
    """Return the first character of ``text`` that can't be seen; None if there is none."""
    if text.isascii() and text.isprintable():
        return None
    return next(
        (character for place, character in enumerate(text) if _is_unseen(text, place, lines=lines)), None
    )


def replaced(text: str, by: Callable[[str], str], *, lines: bool = False) -> str:
    """Return ``text`` with what ``by`` makes of each character that can't be seen."""
    return "".join(
        by(character) if _is_unseen(text, place, lines=lines) else character
        for place, character in enumerate(text)
    )


def seen(text: str, *, lines: bool = False) -> str:
    """Return ``text`` with spaces for characters that can't be seen, and without spaces at its ends."""
    return replaced(text, lambda _: " ", lines=lines).strip()


def shown_name(*texts: str | None) -> str:
    """Return the first of these texts in which something can be seen, as a name of at most 64 characters."""
    return next((name for text in texts if text and (name := seen(text)[:MAX_NAME_LENGTH].strip())), "")


def _is_unseen(text: str, place: int, *, lines: bool) -> bool:
    character = text[place]
    if category(character) not in _UNSEEN and ord(character) not in _NOT_DRAWN:
        return False
    return not ((lines and character in _LINES) or (character in SHAPING and _is_needed(text, place)))


def _is_needed(text: str, place: int) -> bool:
    """True if the character of ``SHAPING`` at ``place`` shapes its neighbours."""
    character = text[place]
    before = text[place - 1 : place]
    after = text[place + 1 : place + 2]
    if character in _SELECTORS:
        return bool(before) and category(before)[0] in "SPN"  # an emoji, or a base of one: 1, #, ©
    if not before or not after:
        return False
    if character == _JOINER and category(after) == "So":
        return category(before) in {"So", "Sk"} or before in _SELECTORS  # one emoji of several
    spelt = category(before)[0] in "LMN" and category(after)[0] in "LMN"
    return spelt and not _JOINING.isdisjoint({_script(before), _script(after)})


def _script(letter: str) -> str:
    return name(letter, "").partition(" ")[0]


MAX_NAME_LENGTH = 64
MAX_USER_NAME = 254
"""The most characters of the name of a user, which may be an email address (RFC 5321 §4.5.3.1.3)."""

# Private use and unassigned characters: their appearance is unknown (Unicode §4.5).
_UNKNOWN = frozenset({"Co", "Cn"})
_UNSHAPED = str.maketrans("", "", SHAPING)
# Scripts with letters that look alike, by the first word of a letter's Unicode name.
_ALIKE = frozenset({"LATIN", "GREEK", "COPTIC", "CYRILLIC", "ARMENIAN", "CHEROKEE"})


def name_key(text: str) -> str:
    """Return the key by which names are compared: names with equal keys are the same name.

    Compatibility caseless matching (Unicode §3.13, D146): ``ADMIN``, ``admin`` and ``admin`` in full-width
    letters are one name. Spellings with and without joiners are one name too. Letters of different scripts
    that look alike stay different: see ``name_fault``. In a name that is an address, two spellings of an
    internationalised domain are one.
    """
    # Most names are ASCII, of which Unicode's forms change nothing but the case.
    key = text.lower() if text.isascii() else _folded(text)
    return _folded(plain_address(key)) if "@" in key and "xn--" in key else key


def _folded(text: str) -> str:
    folded = normalize("NFD", text.translate(_UNSHAPED)).casefold()
    return normalize("NFKC", normalize("NFKD", folded).casefold())


def text_fault(text: str) -> Sentence | None:
    """Return why ``text`` can't be a displayed name, as half a sentence ("must …"); None if it can."""
    return _text_fault(text, MAX_NAME_LENGTH)


def _text_fault(text: str, most: int) -> Sentence | None:
    if not 1 <= len(text) <= most:
        return sentence("wrong_length" if text else "too_short", least=1, most=most)
    if text != text.strip():
        return sentence("outer_spaces")
    if fault := unseen_fault(text):
        return fault
    if any(category(letter) in _UNKNOWN for letter in text):
        return sentence("unknown_characters")
    return None


RESERVED: Final = "@"
"""The prefix of log names that do not belong to users, such as ``@operator`` and ``@review:7``."""


def name_fault(text: str) -> Sentence | None:
    """Return why ``text`` cannot be a user name, as half a sentence ("must …"); None if it can.

    Stricter than ``text_fault``: people compare names by eye, and type them. A name has no joiners, and may
    not mix scripts whose letters look alike, as in ``admin`` with a Cyrillic first letter (UTS #39 §5.2). A
    name in one script is accepted.
    """
    if fault := _text_fault(text, MAX_USER_NAME):
        return fault
    if any(letter in SHAPING for letter in text):
        return sentence("joiners")
    key = name_key(text)
    if key.startswith(RESERVED):
        return sentence("reserved_beginning", beginning=RESERVED)
    if "  " in key:
        return sentence("two_spaces")
    if len({script for letter in key if (script := _script_of_letter(letter)) in _ALIKE}) > 1:
        return sentence("mixed_scripts")
    return None


def _script_of_letter(letter: str) -> str:
    return name(letter, "").partition(" ")[0] if category(letter)[0] == "L" else ""


class OptionValue(str):  # noqa: SLOT000 - it has an attribute
    """The value of a setting's variable that an option has given; ``option`` is its name, with the dashes."""

    option: str

    def __new__(cls, value: str, option: str) -> Self:
        """Return the value, which is like any other text."""
        given = super().__new__(cls, value)
        given.option = option
        return given
