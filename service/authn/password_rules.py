"""What a new password may be: long enough, and none that a guesser tries first (NIST SP 800-63B §3.1.1.2).

There are no rules about kinds of characters, which make passwords worse, and nothing is cut off.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from importlib.resources import files

from service.errors import ValidationFailed
from service.kernel.names import name_key
from service.settings import Password

_SERVICE_NAME = "portcullis"
_SHORTEST_WORD = 3
_LONGEST_UNIT = 4
_RUNS = (
    "abcdefghijklmnopqrstuvwxyz",
    "01234567890",
    "qwertyuiop",
    "asdfghjkl",
    "zxcvbnm",
    "1qaz2wsx3edc4rfv5tgb",
)
_LOOK_ALIKES = str.maketrans("013457@$!l", "oieastasii")  # l as well, for 1 may stand for either
_WORD = re.compile(r"\w+")


class PasswordRules:
    """Checks passwords that are about to be set; those that are set already are never checked again."""

    def __init__(self, settings: Password) -> None:
        self._least = settings.min_length
        self._most = settings.max_length
        text = (files("service.authn") / "common_passwords.txt").read_text("utf-8")
        lines = (line for line in text.splitlines() if not line.startswith("#"))
        self._common = frozenset(word.translate(_LOOK_ALIKES) for line in lines for word in line.split())

    def check(self, field: str, password: str, context: Iterable[str | None] = ()) -> None:
        """Raise ``ValidationFailed`` for ``field`` unless the rules allow ``password``.

        ``context`` holds what is known of its user: user name, nick name, email, phone.
        """
        if complaint := self.complaint(password, context):
            raise ValidationFailed((field, complaint))

    def complaint(self, password: str, context: Iterable[str | None] = ()) -> str | None:
        """Say why ``password`` will not do; None when it will. The answer never holds it."""
        if not self._least <= len(password) <= self._most:
            return f"must have {self._least} to {self._most} characters"
        if any("\ud800" <= letter <= "\udfff" for letter in password):
            return "must be text"
        key = name_key(password)
        if self._is_common(key):
            return "is among the passwords that are guessed first"
        if self._is_context(key, context):
            return "must not be made of a name: your own, your address or that of this service"
        return None

    def _is_common(self, key: str) -> bool:
        if _is_regular(key):
            return True
        letters = key.translate(_LOOK_ALIKES)
        plain = re.sub(r"[\W\d_]+", "", key)  # digits and signs as decoration: dragon-2024
        disguised = re.sub(r"[\W\d_]+", "", letters)  # and in place of letters: dr4gon
        trimmed = re.sub(r"[\W\d_]+", "", re.sub(r"^[\W\d_]+|[\W\d_]+$", "", key).translate(_LOOK_ALIKES))
        return not self._common.isdisjoint({plain.translate(_LOOK_ALIKES), disguised, trimmed})

    def _is_context(self, key: str, context: Iterable[str | None]) -> bool:
        """Tell whether too little is left of the password once the names are taken out."""
        left, found = key, False
        for word in sorted({_SERVICE_NAME, *_words(context)}, key=len, reverse=True):
            found = found or word in left
            left = left.replace(word, "")
        return found and len(left) < self._least


def _words(context: Iterable[str | None]) -> Iterator[str]:
    for text in context:
        key = name_key(text or "")
        yield from (word for word in (key, *_WORD.findall(key)) if len(word) >= _SHORTEST_WORD)


def _is_regular(key: str) -> bool:
    """Tell whether the text is a short unit again and again, or runs along the alphabet or a keyboard."""
    if any(key == (key[:size] * len(key))[: len(key)] for size in range(1, _LONGEST_UNIT + 1)):
        return True
    return any(key in along for run in _RUNS for along in (run, run[::-1]))
