"""The shipped languages, in which the console, mails and notices speak to a user.

A language is a folder of ``service/console/texts`` with the name of its tag, and nothing else. Its folder
``server`` has the texts that the service itself writes.
"""

from pathlib import Path
from typing import Final

FIRST: Final = "en"
"""The language of texts that another one lacks."""
_FOLDER: Final = Path(__file__).parents[1] / "console" / "texts"

LANGUAGES: Final = (
    FIRST,
    *sorted(folder.name for folder in _FOLDER.iterdir() if folder.is_dir() and folder.name != FIRST),
)
"""Tags of BCP 47 (RFC 5646), ``FIRST`` in front of the others."""

_SPELLINGS: Final = {tag.lower(): tag for tag in LANGUAGES}


def language_fault(tag: str) -> str | None:
    """Return why ``tag`` is refused, half a sentence; None for a shipped language, in any case (§2.1.1)."""
    return None if tag.lower() in _SPELLINGS else f"must be one of the languages {', '.join(LANGUAGES)}"


def spelling_of(tag: str) -> str:
    """Return the usual spelling of a shipped language, such as ``zh-CN`` for ``zh-cn``."""
    return _SPELLINGS.get(tag.lower(), tag)


def server_texts(language: str, name: str) -> bytes:
    """Return the file ``name`` of the server's texts in a shipped language; ``{}`` if there is none."""
    file = _FOLDER / language / "server" / name
    return file.read_bytes() if file.exists() else b"{}"
