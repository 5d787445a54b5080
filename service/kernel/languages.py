"""The shipped languages, in which the console, mails and notices speak to a user.

A language is a folder of ``service/console/texts`` with the name of its tag, and nothing else. Its
``language.json`` names it, and its folder ``server`` has the texts that the service itself writes.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from service.kernel.coded_sentences import Sentence
from service.kernel.core_sentences import sentence
from service.kernel.value_rules import SHORT_LINE, whole

FIRST: Final = "en"
"""The language of texts that another one lacks."""
_FOLDER: Final = Path(__file__).parents[1] / "console" / "texts"

LANGUAGES: Final = (
    FIRST,
    *sorted(file.parent.name for file in _FOLDER.glob("*/language.json") if file.parent.name != FIRST),
)
"""Tags of BCP 47 (RFC 5646), ``FIRST`` in front of the others."""

MAX_TAG: Final = 35
"""The longest tag that must be supported (RFC 5646 §4.4.1), in characters."""
TAG: Final = whole("[A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8}){0,7}")
"""The pattern of a language tag, as JSON Schema has it; it allows some that RFC 5646 does not define."""
MOST_TITLES: Final = 64
"""The most languages of a title."""
_TAG: Final = re.compile(TAG)
_WEIGHT: Final = re.compile(r"q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)")
_SPELLINGS: Final = {tag.lower(): tag for tag in LANGUAGES}


def language_fault(tag: str) -> Sentence | None:
    """Return why ``tag`` is refused, half a sentence; None for a shipped language, in any case (§2.1.1)."""
    return None if tag.lower() in _SPELLINGS else sentence("not_a_language", languages=", ".join(LANGUAGES))


def spelling_of(tag: str) -> str:
    """Return the usual spelling of a shipped language, such as ``zh-CN`` for ``zh-cn``."""
    return _SPELLINGS.get(tag.lower(), tag)


def shipped_language(preferred: str) -> str | None:
    """Return the shipped language that fits best, by a value of Accept-Language; None if none does.

    Lookup of RFC 4647 §3.4 for each range, the most preferred first; ``zh`` alone takes ``zh-CN`` too.
    """
    ranges = [part.strip().partition(";") for part in preferred.split(",")]
    weighted = [(tag.strip(), _WEIGHT.fullmatch(weight.strip())) for tag, _, weight in ranges]
    weights = [(float(weight[1]) if weight else 1.0, tag) for tag, weight in weighted]
    primary = {tag.partition("-")[0].lower(): tag for tag in reversed(LANGUAGES)}
    known = primary | _SPELLINGS
    for weight, tag in sorted(weights, key=lambda each: -each[0]):
        if weight and (fitting := known.get(tag.lower()) or text_in(_SPELLINGS, tag)):
            return fitting
    return None


def server_texts(language: str, name: str) -> bytes:
    """Return the file ``name`` of the server's texts in a shipped language; ``{}`` if there is none."""
    file = _FOLDER / language / "server" / name
    return file.read_bytes() if file.exists() else b"{}"


def titles_fault(titles: Mapping[str, str]) -> Sentence | None:
    """Return why ``titles``, titles by language tag, are refused, half a sentence; None if they are not."""
    if not all(len(tag) <= MAX_TAG and _TAG.fullmatch(tag) for tag in titles):
        return sentence("not_language_tags")
    if len({tag.lower() for tag in titles}) < len(titles):
        return sentence("language_twice")
    if len(titles) > MOST_TITLES:
        return sentence("too_many_languages", most=MOST_TITLES)
    return next((fault for title in titles.values() if (fault := SHORT_LINE(title))), None)


def text_in(texts: Mapping[str, str], language: str) -> str | None:
    """Return the text for ``language`` of ``texts`` by tag, or None: Lookup of RFC 4647 §3.4.

    ``zh-Hans-CN`` takes the text of ``zh-Hans`` and then that of ``zh``, but ``zh`` takes none of ``zh-CN``.
    """
    known = {tag.lower(): text for tag, text in texts.items()}
    subtags = language.lower().split("-")
    while subtags:
        if (text := known.get("-".join(subtags))) is not None:
            return text
        subtags.pop()
        if subtags and len(subtags[-1]) == 1:  # a singleton introduces what is gone
            subtags.pop()
    return None
