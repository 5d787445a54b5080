"""Rules for the values of fields; the bodies of the API have their bounds and patterns from here."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from service.kernel.codes import is_code
from service.kernel.services import is_service_name
from service.kernel.unseen import unseen_fault


@dataclass(frozen=True, slots=True)
class TextRule:
    """A rule: ``most`` characters that can be seen, of which ``pattern``, if there is one, must match all.

    ``lines``: there may be several lines. Called with a text it returns why the text breaks the rule, half a
    sentence ("must …"), which is ``says`` but for unseen characters; else None.
    """

    most: int
    says: str
    pattern: str = ""
    lines: bool = False
    _form: re.Pattern[str] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_form", re.compile(self.pattern or r"[\s\S]*"))

    def __call__(self, text: str) -> str | None:
        """Return why ``text`` is refused, or None."""
        fits = len(text) <= self.most and self._form.fullmatch(text)
        return unseen_fault(text, lines=self.lines) if fits else self.says


@dataclass(frozen=True, slots=True)
class RangeRule:
    """A rule: a whole number from ``least`` to ``most``; called as ``TextRule`` is."""

    least: int
    most: int

    def __call__(self, number: int) -> str | None:
        """Return why ``number`` is refused, or None."""
        within = self.least <= number <= self.most
        return None if within else f"must be a whole number from {self.least} to {self.most}"


ONE_LINE: Final = r"[^\s\x00-\x1f\x7f](?:[^\x00-\x1f\x7f]*[^\s\x00-\x1f\x7f])?"
"""The pattern of display names: one line, no space at either end."""


def one_line(most: int) -> TextRule:
    """Return the rule of a text of one line, with ``most`` characters."""
    return TextRule(most, f"must be one line of 1 to {most} characters without spaces at its ends", ONE_LINE)


SHORT_LINE: Final = one_line(128)
"""Names, titles and icons."""
COMPONENT: Final = one_line(256)
DESCRIPTION: Final = TextRule(1000, "must have at most 1000 characters", lines=True)
BAN_REASON: Final = TextRule(200, "must have at most 200 characters", lines=True)

# User interfaces navigate to it: another scheme or host would lead elsewhere unnoticed.
_VISIBLE: Final = r"[^\s\\\x00-\x1f\x7f]"
MENU_PATH: Final = TextRule(
    256,
    "must be a path or an http or https URL of at most 256 characters",
    rf"https?://{_VISIBLE}+|/(?!/){_VISIBLE}*|[A-Za-z0-9._-](?:(?!:){_VISIBLE})*",
)
SORT: Final = RangeRule(-(2**31), 2**31 - 1)
METHOD: Final = TextRule(6, "must be GET, POST, PUT, PATCH or DELETE", "GET|POST|PUT|PATCH|DELETE")
RESOURCE_CODE: Final = TextRule(
    64,
    "must begin with a letter or digit and have at most 64 letters, digits and . _ : -",
    "[A-Za-z0-9][A-Za-z0-9._:-]*",
)

# Simpler than RFC 5321, and strict about characters that are unsafe in headers and links.
_ATOM: Final = r"[^\W_](?:[\w.+'-]*[\w+'-])?|_[\w.+'-]*[\w+'-]"
_LABEL: Final = r"[^\W_](?:[\w-]*[^\W_])?"
EMAIL: Final = TextRule(
    254, "must be an email address of at most 254 characters", rf"(?:{_ATOM})@{_LABEL}(?:\.{_LABEL})*"
)
PHONE: Final = TextRule(
    32, "must be a phone number of at most 32 characters", r"\+?[0-9](?:[ ./()-]{0,2}[0-9])*"
)
# The characters of RFC 3986; only these two schemes, and no `//host`, which would be a URL without one.
AVATAR: Final = TextRule(
    1024,
    "must be an http or https URL or a path from /, of at most 1024 characters",
    r"(?:https?://|/(?![/\\]))[A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=%-]+",
)


def code_fault(text: str) -> str | None:
    """Return why ``text`` can't be the permission code of a Button; None if it can."""
    if is_code(text):
        return None
    return "must be segments of a-z, 0-9, _ and - joined by ':', or '*' for a whole one"


def service_fault(text: str) -> str | None:
    """Return why ``text`` can't be the name of a service; None if it can."""
    if is_service_name(text):
        return None
    return "must begin with a lower-case letter and have at most 32 lower-case letters, digits and hyphens"
