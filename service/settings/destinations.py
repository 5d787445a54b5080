"""Destinations of the audit export: their members, read strictly from a table of the file or from JSON."""

import base64
import binascii
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, get_args
from urllib.parse import SplitResult, unquote, urlsplit

from service.kernel.strict_json import strict_json

ExportLog: TypeAlias = Literal["operations", "logins", "decisions"]
ExportFormat: TypeAlias = Literal["json", "ocsf"]
ExportStart: TypeAlias = Literal["now", "beginning"]
Transport: TypeAlias = Literal["file", "http", "https", "syslog+tcp", "syslog+tls", "syslog+unix"]

LOGS: Final[tuple[ExportLog, ...]] = get_args(ExportLog)

SECRET_MEMBERS: Final = ("secret", "authorization")
"""The members that are secrets; each can be read from a file instead, which ``<member>_file`` names."""

_NAME: Final = re.compile(r"[a-z][a-z0-9-]{0,31}")
_VISIBLE: Final = re.compile(r"[\x21-\x7e]+(?: [\x21-\x7e]+)*")
_TRANSPORTS: Final[tuple[Transport, ...]] = get_args(Transport)
_BY_PATH: Final = ("file", "syslog+unix")
_SECRET_PREFIX: Final = "whsec_"  # noqa: S105 - what secrets of this kind begin with
_SECRET_BYTES: Final = (24, 64)
_SECONDS: Final = (0.1, 60.0)
_ENTRIES: Final = (1, 1000)


@dataclass(frozen=True, slots=True, kw_only=True)
class Destination:
    """Where entries of the logs are sent, and how; ``docs/reference/audit-export.md`` says what each means.

    ``timeout`` is in seconds, for one attempt. ``batch`` is the most entries of one attempt.
    """

    name: str
    url: str
    logs: tuple[ExportLog, ...] = ("operations", "logins")
    format: ExportFormat = "json"
    start: ExportStart = "now"
    secret: str = field(default="", repr=False)
    secret_file: Path | None = None
    authorization: str = field(default="", repr=False)
    authorization_file: Path | None = None
    ca_file: Path | None = None
    timeout: float = 10.0
    batch: int = 100

    @property
    def transport(self) -> Transport:
        """The scheme of the URL."""
        scheme: Transport = urlsplit(self.url).scheme  # type: ignore[assignment]  # checked when it was read
        return scheme

    @property
    def path(self) -> str:
        """The path of the URL, with escapes replaced: of a file or a socket."""
        return unquote(urlsplit(self.url).path)


class Destinations(tuple[Destination, ...]):
    """Destinations with different names."""

    __slots__ = ()


def destinations_of_text(text: str) -> Destinations:
    """Return the destinations of a JSON object, by name; none for an empty text. Raises ValueError."""
    if not text:
        return Destinations()
    try:
        value = strict_json(text.encode())
    except ValueError:
        raise ValueError("must be a JSON object of destinations by name") from None
    return destinations_of_table(value)


def destinations_of_table(value: object) -> Destinations:
    """Return the destinations of a table, by name. Raises ValueError, without any value of a member."""
    if not isinstance(value, dict):
        raise ValueError("must be a table of destinations by name")  # noqa: TRY004 - a fault of the operator
    return Destinations(_destination(name, members) for name, members in value.items())


def signing_keys(text: str) -> list[bytes]:
    """Return the keys of the secrets in ``text``, which are separated by spaces or lines.

    Each is ``whsec_`` and 24 to 64 bytes in base64 (Standard Webhooks). Raises ValueError.
    """
    keys = []
    for secret in text.split():
        try:
            key = base64.b64decode(secret.removeprefix(_SECRET_PREFIX), validate=True)
        except binascii.Error:
            key = b""
        if not secret.startswith(_SECRET_PREFIX) or not _SECRET_BYTES[0] <= len(key) <= _SECRET_BYTES[1]:
            raise ValueError(f"must be {_SECRET_PREFIX} and 24 to 64 random bytes in base64")
        keys.append(key)
    return keys


def _destination(name: str, members: object) -> Destination:
    if not _NAME.fullmatch(name):
        raise ValueError("must have names of at most 32 of a-z, 0-9 and -, starting with a letter")
    if not isinstance(members, Mapping):
        raise ValueError(f"must have a table for {name}")  # noqa: TRY004 - as above
    if unknown := sorted(map(str, members.keys() - _READERS.keys())):
        raise ValueError(f"has no member {unknown[0]:.40} ({name}); there are {', '.join(_READERS)}")
    if "url" not in members:
        raise ValueError(f"needs a url ({name})")
    try:
        given = {member: _READERS[member](value) for member, value in members.items()}
    except ValueError as error:
        raise ValueError(f"{error} ({name})") from None
    made = Destination(name=name, **given)
    for complaint in _complaints(made):
        raise ValueError(f"{complaint} ({name})")
    return made


def _complaints(made: Destination) -> Iterator[str]:
    over_http = made.transport in ("http", "https")
    for member in SECRET_MEMBERS:
        text, file = getattr(made, member), getattr(made, f"{member}_file")
        if text and file:
            yield f"has {member} and {member}_file: give one of them"
        if (text or file) and not over_http:
            yield f"has a {member}, which only http and https use"
    if over_http and not (made.secret or made.secret_file):
        yield "needs a secret or secret_file, with which requests are signed"
    if made.ca_file and made.transport not in ("https", "syslog+tls"):
        yield "has a ca_file, which only https and syslog+tls use"


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
    return tuple(_choice(ExportLog)(name) for name in value)


def _choice(kind: Any) -> Callable[[object], Any]:
    choices = get_args(kind)

    def choose(value: object) -> Any:
        if value not in choices:
            raise ValueError(f"must have one of {', '.join(choices)}")
        return str(value)

    return choose


def _path(value: object) -> Path:
    path = Path(_text(value))
    if not path.is_absolute():
        raise ValueError("must have absolute paths of files")
    return path


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


_READERS: Final[dict[str, Callable[[object], Any]]] = {
    "url": _url,
    "logs": _logs,
    "format": _choice(ExportFormat),
    "start": _choice(ExportStart),
    "secret": _secret,
    "secret_file": _path,
    "authorization": _authorization,
    "authorization_file": _path,
    "ca_file": _path,
    "timeout": _between(*_SECONDS, int, float),
    "batch": _between(*_ENTRIES, int),
}
assert _READERS.keys() == {setting.name for setting in fields(Destination)} - {"name"}  # noqa: S101 - one reader each
