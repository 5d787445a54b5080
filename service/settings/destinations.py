"""Destinations of the audit export: their members, read strictly from a table of the file or from JSON."""

import base64
import binascii
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, get_args
from urllib.parse import SplitResult, unquote, urlsplit

from service.kernel.webhooks import SEED, SigningKey
from service.settings.members import absolute_path, choice, from_json, member, read_table

ExportLog: TypeAlias = Literal["operations", "logins", "decisions"]
ExportFormat: TypeAlias = Literal["json", "ocsf"]
ExportStart: TypeAlias = Literal["now", "beginning"]
Transport: TypeAlias = Literal["file", "http", "https", "syslog+tcp", "syslog+tls", "syslog+unix"]

LOGS: Final[tuple[ExportLog, ...]] = get_args(ExportLog)

SECRET_MEMBERS: Final = ("secret", "authorization")
"""The members that are secrets; each can be read from a file instead, which ``<member>_file`` names."""

_VISIBLE: Final = re.compile(r"[\x21-\x7e]+(?: [\x21-\x7e]+)*")
_TRANSPORTS: Final[tuple[Transport, ...]] = get_args(Transport)
_BY_PATH: Final = ("file", "syslog+unix")
_SECRET_PREFIX: Final = "whsec_"  # noqa: S105 - what secrets of this kind begin with
_PRIVATE_PREFIX: Final = "whsk_"
_SECRET_BYTES: Final = (24, 64)
_SECONDS: Final = (0.1, 60.0)
_ENTRIES: Final = (1, 1000)


def signing_keys(text: str) -> list[SigningKey]:
    """Return the keys of the secrets in ``text``, which are separated by spaces or lines.

    Each is ``whsec_`` and 24 to 64 bytes in base64, or ``whsk_`` and a private key of Ed25519, of 32 bytes or
    with its public key (Standard Webhooks). Raises ValueError.
    """
    return [_signing_key(secret) for secret in text.split()]


def _signing_key(secret: str) -> SigningKey:
    asymmetric = secret.startswith(_PRIVATE_PREFIX)
    prefix = _PRIVATE_PREFIX if asymmetric else _SECRET_PREFIX
    try:
        key = base64.b64decode(secret.removeprefix(prefix), validate=True)
    except binascii.Error:
        key = b""
    if asymmetric:
        made = SigningKey("v1a", key)
        if len(key) not in (SEED, 2 * SEED) or not made.fits():
            raise ValueError(f"must be {prefix} and a private key of Ed25519 in base64: 32 bytes, or 64")
        return made
    if not secret.startswith(prefix) or not _SECRET_BYTES[0] <= len(key) <= _SECRET_BYTES[1]:
        raise ValueError(f"must be {prefix} and 24 to 64 random bytes in base64")
    return SigningKey("v1", key)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("must have texts")  # noqa: TRY004 - a fault of the operator, as all here
    return str(value)


def _url(value: object) -> str:
    text = _text(value)
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise ValueError("must have a url") from None
    if parts.scheme not in _TRANSPORTS or not text.startswith(f"{parts.scheme}://"):
        raise ValueError(f"must have a url of {', '.join(_TRANSPORTS)}")
    if not _VISIBLE.fullmatch(text) or " " in text or parts.fragment or "@" in parts.netloc:
        raise ValueError("must have a url without spaces, fragment, user or password")
    if complaint := _place(parts, port):
        raise ValueError(complaint)
    return text


def _place(parts: SplitResult, port: int | None) -> str | None:
    if parts.scheme in _BY_PATH:
        fits = not parts.netloc and len(parts.path) > 1 and not parts.path.endswith("/") and not parts.query
        fits = fits and unquote(parts.path).isprintable()
        return None if fits else f"must have a url such as {parts.scheme}:///run/name, with an absolute path"
    if not parts.hostname:
        return "must have a url with a host"
    if parts.scheme.startswith("syslog") and (port is None or parts.path or parts.query):
        return f"must have a url such as {parts.scheme}://logs.example.com:6514"
    return None


def _logs(value: object) -> tuple[ExportLog, ...]:
    if not isinstance(value, list) or not value or len({*map(str, value)}) != len(value):
        raise ValueError("must have logs as a list, each once")
    return tuple(map(choice(*LOGS), value))


def _path(value: object) -> Path:
    return absolute_path(_text(value))


def _secret(value: object) -> str:
    text = _text(value)
    if not signing_keys(text):
        raise ValueError("must have a secret that is not empty")
    return text


def _authorization(value: object) -> str:
    text = _text(value)
    if not is_header_value(text):
        raise ValueError("must have an authorization of visible ASCII, such as Bearer and a token")
    return text


def is_header_value(text: str) -> bool:
    """Return whether ``text`` may be the value of the header Authorization (RFC 9110 §11.6.2)."""
    return _VISIBLE.fullmatch(text) is not None


def _between(low: float, high: float, *kinds: type) -> Callable[[object], Any]:
    def read(value: Any) -> Any:
        if type(value) not in kinds or not low <= value <= high:
            raise ValueError(
                f"must have a timeout of {_SECONDS[0]:g} to {_SECONDS[1]:g} and a batch of "
                f"{_ENTRIES[0]} to {_ENTRIES[1]}"
            )
        return value

    return read


@dataclass(frozen=True, slots=True, kw_only=True)
class Destination:
    """Where entries of the logs are sent, and how; ``docs/reference/audit-export.md`` says what each means.

    ``timeout`` is in seconds, for one attempt. ``batch`` is the most entries of one attempt.
    """

    name: str
    url: str = member(_url, needed="a url")
    logs: tuple[ExportLog, ...] = member(_logs, ("operations", "logins"))
    format: ExportFormat = member(choice(*get_args(ExportFormat)), "json")
    start: ExportStart = member(choice(*get_args(ExportStart)), "now")
    secret: str = member(_secret, "", secret=True)
    secret_file: Path | None = member(_path, None)
    authorization: str = member(_authorization, "", secret=True)
    authorization_file: Path | None = member(_path, None)
    ca_file: Path | None = member(_path, None)
    timeout: float = member(_between(*_SECONDS, int, float), 10.0)
    batch: int = member(_between(*_ENTRIES, int), 100)

    @property
    def transport(self) -> Transport:
        """The scheme of the URL."""
        scheme: Transport = urlsplit(self.url).scheme  # type: ignore[assignment]  # checked when it was read
        return scheme

    @property
    def path(self) -> str:
        """The path of the URL, with escapes replaced: of a file or a socket."""
        return unquote(urlsplit(self.url).path)

    def complaints(self) -> Iterator[str]:
        """Yield half a sentence for each fault between members."""
        over_http = self.transport in ("http", "https")
        for name in SECRET_MEMBERS:
            text, file = getattr(self, name), getattr(self, f"{name}_file")
            if text and file:
                yield f"has {name} and {name}_file: give one of them"
            if (text or file) and not over_http:
                yield f"has a {name}, which only http and https use"
        if over_http and not (self.secret or self.secret_file):
            yield "needs a secret or secret_file, with which requests are signed"
        if self.ca_file and self.transport not in ("https", "syslog+tls"):
            yield "has a ca_file, which only https and syslog+tls use"


class Destinations(tuple[Destination, ...]):
    """Destinations with different names."""

    __slots__ = ()


def destinations_of_text(text: str) -> Destinations:
    """Return the destinations of a JSON object, by name; none for an empty text. Raises ValueError."""
    return destinations_of_table(from_json(text, "a JSON object of destinations by name", {}))


def destinations_of_table(value: object) -> Destinations:
    """Return the destinations of a table, by name. Raises ValueError, without any value of a member."""
    if not isinstance(value, dict):
        raise ValueError("must be a table of destinations by name")  # noqa: TRY004 - a fault of the operator
    return Destinations(read_table(Destination, name, members, name=name) for name, members in value.items())
