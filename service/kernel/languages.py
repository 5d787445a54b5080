"""The shipped languages, in which the console, mails and notices speak to a user."""

from typing import Final

LANGUAGES: Final = ("en", "zh-CN")
"""Tags of BCP 47 (RFC 5646). The first is the language of texts that another one lacks."""

_SPELLINGS: Final = {tag.lower(): tag for tag in LANGUAGES}


def language_fault(tag: str) -> str | None:
    """Return why ``tag`` is refused, half a sentence; None for a shipped language, in any case (§2.1.1)."""
    return None if tag.lower() in _SPELLINGS else f"must be one of the languages {', '.join(LANGUAGES)}"


def spelling_of(tag: str) -> str:
    """Return the usual spelling of a shipped language, such as ``zh-CN`` for ``zh-cn``."""
    return _SPELLINGS.get(tag.lower(), tag)
