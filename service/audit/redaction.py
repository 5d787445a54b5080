"""Redaction of log entries, by the names of members and by the form of texts.

All data of a request is redacted here before it enters an entry. Values with a sensitive name are withheld
whole. Texts without names, such as a User-Agent, lose parts that look like a token or follow a sensitive
name. A password in the wrong field looks like any other text. So rejected bodies, and unknown user names of
failed logins, are never stored.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final
from urllib.parse import unquote_plus

import msgspec
from msgspec.structs import replace

from service.kernel.origin import FieldChange
from service.kernel.text import name_key, printable

REDACTED: Final = "[redacted]"
"""Replaces a withheld value."""
MOST: Final = 8192
"""The longest JSON text that is kept, in bytes; see ``kept``."""
MOST_QUERY: Final = 1024
"""The longest query string that is kept, in characters."""

CLEAR: Final = frozenset({"roles", "status", "kind", "service"})
"""Fields of users whose changes stay readable; part of the format of chains, so it never changes."""

SIGNS: Final = (
    *("password", "passwd", "passphrase", "passcode", "pwd", "secret", "token", "authorization", "cookie"),
    *("csrf", "xsrf", "credential", "keyhash", "apikey", "accesskey", "privatekey", "signingkey", "jwt"),
    *("bearer", "sessionid", "onetimecode"),
)
"""Parts that make a name sensitive; compared without case and punctuation."""
NAMES: Final = frozenset({"auth", "otp", "pass", "pin", "pw", "rid", "sid", "totp"})
"""Names that are sensitive only as a whole."""
_LONGEST_TEXT = 256
_MOST_ITEMS = 50
_DEEPEST = 16
_ELLIPSIS: Final = "\u2026"

KEY_SIGN: Final = "pck_"
"""The prefix of every API key; a text without the prefix contains no key."""

# All run in linear time: clients choose the texts.
_KEY: Final = re.compile(
    r"pck_[A-Za-z0-9_]{8,}"
)  # an API key (``service.authn.key_callers``) or a part of one
_TOKENS: Final = re.compile(
    r"eyJ[A-Za-z0-9_.-]{8,}"  # a JSON Web Token (RFC 7519) or a part of one: "eyJ" is '{"' in base64
    r"|\b(?:bearer|basic)\s+\S+",  # RFC 9110 §11.4
    re.IGNORECASE,
)
_PUBLIC: Final = "/api/public/"
_PUBLIC_BYTES, _KEY_BYTES = _PUBLIC.encode(), KEY_SIGN.encode()
# The next segment is the secret of a link, except in a template such as ``/api/public/file/{token}``.
_LINK: Final = re.compile(r"(/api/public/\w{1,32}/)(?!\{)[^\s/?#\"']+")
_RUN: Final = re.compile(r"[A-Za-z0-9_-]{22,}")  # 128 random bits, as base64url or in hexadecimal
_ASSIGNMENT: Final = re.compile(
    r"""(?<![\w.-])([\w.-]{2,}+)(["']?\s*[:=]\s*)("[^"]*"?|'[^']*'?|[^\s;,&)]+)"""
)


@lru_cache(4096)
def is_sensitive(name: str) -> bool:
    """True if values with this name are withheld, regardless of its spelling."""
    plain = "".join(filter(str.isalnum, name_key(name)))
    return plain in NAMES or any(sign in plain for sign in SIGNS)


def kept(document: bytes, *, redact: bool) -> msgspec.Raw:
    """Return the JSON to keep of a JSON text, at most ``MOST`` bytes.

    With ``redact`` the values of members with sensitive names are withheld, at any depth. Without it, the
    caller guarantees that there are none. API keys and the secrets of public links are withheld in any text.
    Documents that are too long lose the ends of long texts, the last items of long lists, then their last
    members. An ellipsis marks each omission.
    """
    if not redact and len(document) <= MOST and _PUBLIC_BYTES not in document and _KEY_BYTES not in document:
        return msgspec.Raw(document)
    encoded = msgspec.json.encode(_Shortened().value(msgspec.json.decode(document)))
    if len(encoded) > MOST:
        encoded = msgspec.json.encode({_ELLIPSIS: f"{len(document)} bytes"})
    return msgspec.Raw(encoded)


def shortened(text: str) -> str:
    """Return ``text`` without API keys and secrets of public links, and without the end of a long one.

    An ellipsis marks the place.
    """
    if _PUBLIC in text:
        text = _LINK.sub(rf"\1{REDACTED}", text)
    text = without_keys(text)
    if len(text) <= _LONGEST_TEXT:
        return text
    return f"{text[:_LONGEST_TEXT]}{_ELLIPSIS} ({len(text)} characters)"


def without_keys(text: str) -> str:
    """Return ``text`` with each API key in it, or beginning of one, withheld."""
    return _KEY.sub(REDACTED, text) if KEY_SIGN in text else text


def redacted_query(query: str) -> str:
    """Return a query string, still percent-encoded, without the values of sensitive parameters."""
    return without_keys("&".join(map(_redacted_parameter, printable(query[:MOST_QUERY]).split("&"))))


@lru_cache(1024)
def redacted_text(text: str) -> str:
    """Return a text of a client, such as its User-Agent, on one line and without apparent secrets."""
    text = _ASSIGNMENT.sub(_redacted_assignment, printable(text))
    return _RUN.sub(_redacted_run, _TOKENS.sub(REDACTED, without_keys(text)))


def _redacted_parameter(part: str) -> str:
    name, sign, _ = part.partition("=")
    return f"{name}={REDACTED}" if sign and is_sensitive(unquote_plus(name, errors="replace")) else part


def _redacted_assignment(match: re.Match[str]) -> str:
    return f"{match[1]}{match[2]}{REDACTED}" if is_sensitive(match[1]) else match[0]


def _size(value: Any) -> int:
    return len(msgspec.json.encode(value))


def _redacted_run(match: re.Match[str]) -> str:
    return REDACTED if any(map(str.isdigit, match[0])) else match[0]


class _Shortened:
    """Redacts and shortens one document; ``_room`` is the remaining number of bytes of JSON."""

    def __init__(self) -> None:
        self._room = MOST - 1024  # reserved for marks and closing brackets

    def value(self, value: Any, depth: int = 0) -> Any:
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, dict | list) and depth == _DEEPEST:
            return self._text(_ELLIPSIS)
        if isinstance(value, dict):
            return self._members(value, depth + 1)
        if isinstance(value, list):
            return self._items(value, depth + 1)
        self._room -= _size(value) + 1
        return value

    def _text(self, text: str) -> str:
        text = shortened(text)
        self._room -= _size(text) + 1
        return text

    def _members(self, members: dict[str, Any], depth: int) -> dict[str, Any]:
        self._room -= 3
        fitting: dict[str, Any] = {}
        for name, value in members.items():
            if self._room <= 0:
                fitting[_ELLIPSIS] = f"{len(members) - len(fitting)} more"
                break
            shown = self._text(name)
            fitting[shown] = self._text(REDACTED) if is_sensitive(name) else self.value(value, depth)
        return fitting

    def _items(self, items: list[Any], depth: int) -> list[Any]:
        self._room -= 3
        fitting: list[Any] = []
        for item in items:
            if self._room <= 0 or len(fitting) == _MOST_ITEMS:
                fitting.append(f"{_ELLIPSIS} {len(items) - len(fitting)} more")
                break
            fitting.append(self.value(item, depth))
        return fitting


MOST_CHANGES: Final = 65_536
"""Bytes of the changes of one entry; the last ones are left out if there are more."""
MOST_VALUES: Final = 200
"""The most removed, and the most added, values that a change keeps; it counts all of them."""


def kept_changes(changes: Sequence[FieldChange]) -> msgspec.Raw:
    """Return as many of ``changes`` as ``MOST_CHANGES`` allows, as JSON.

    Values of fields with sensitive names are withheld.
    """
    lines: list[bytes] = []
    room = MOST_CHANGES - 2
    for change in changes:
        line = msgspec.json.encode(_kept(change))
        room -= len(line) + 1
        if room < 0:
            break
        lines.append(line)
    return msgspec.Raw(b"[%b]" % b",".join(lines))


def _kept(change: FieldChange) -> FieldChange:
    if is_sensitive(change.field):
        return replace(change, before=REDACTED, after=REDACTED)
    return replace(change, before=_value(change.before), after=_value(change.after))


def _value(value: Any) -> Any:
    if isinstance(value, list):
        return [shortened(element) for element in value[:MOST_VALUES]]
    if isinstance(value, dict):
        return kept(msgspec.json.encode(value), redact=True)
    return shortened(value) if isinstance(value, str) else value
