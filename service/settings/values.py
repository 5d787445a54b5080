"""The types that a setting may have, and strict readers of each from text and from TOML.

Readers raise ValueError with half a sentence ("must be …") that never holds the value, which may be a secret.
"""

import re
from collections.abc import Callable
from datetime import datetime
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_network
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args, get_origin

from service.settings.chats import ChatDestinations, chats_of_table, chats_of_text
from service.settings.destinations import Destinations, destinations_of_table, destinations_of_text
from service.settings.event_destinations import (
    EventDestinations,
    event_destinations_of_table,
    event_destinations_of_text,
)
from service.settings.providers import Providers, providers_of_tables, providers_of_text

Networks = tuple[IPv4Network | IPv6Network, ...]
OptionalPath = Path | None
OptionalNumber = float | None
OptionalWhole = int | None
OptionalTime = datetime | None
LogOutput = Literal["off", "stdout"] | Path
"""The destination of a log: none, standard output, or a file."""


class Paths(tuple[Path, ...]):
    """Files."""

    __slots__ = ()


class Packages(tuple[str, ...]):
    """Python packages, by their dotted names or the absolute paths of their folders."""

    __slots__ = ()


class Words(tuple[str, ...]):
    """Words of ``SHORTEST_WORD`` to ``LONGEST_WORD`` characters."""

    __slots__ = ()


class Names(tuple[str, ...]):
    """Names in small letters, each once."""

    __slots__ = ()


class Digests(tuple[str, ...]):
    """SHA-256 digests in hexadecimal."""

    __slots__ = ()


class Origins(tuple[str, ...]):
    """Origins of web pages, in the form in which browsers send them (RFC 6454 §6.2)."""

    __slots__ = ()


SHORTEST_WORD = 3
"""Characters of a word of which passwords must not be made: shorter ones are in too many by chance."""
LONGEST_WORD = 64
_WHOLE = re.compile(r"-?[0-9]{1,18}")
_NAME = re.compile(r"[a-z][a-z0-9_]{0,31}")
_PACKAGE = re.compile(r"/(?:.+/)?[A-Za-z_][A-Za-z0-9_]*|[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_NUMBER = re.compile(r"-?[0-9]{1,18}(\.[0-9]{1,18})?")
_ORIGIN = re.compile(r"(https?)://(\[[0-9a-f:.]{2,45}\]|[a-z0-9_-]+(?:\.[a-z0-9_-]+)*)(?::([0-9]{1,5}))?")
_DEFAULT_PORTS = {"http": 80, "https": 443}
_HIGHEST_PORT = 65_535
_LAST_IS_NUMBER = re.compile(r"(?:.*\.)?(?:[0-9]+|0x[0-9a-f]*)")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


class Substituted(str):
    """Text of the file with parts from the environment: it is read like a variable."""

    __slots__ = ()


class Kind(NamedTuple):
    """One type of value: its name, how to read it from text, and the TOML types accepted unchanged.

    ``from_table`` reads a TOML table.
    """

    words: str
    from_text: Callable[[str], Any]
    toml: tuple[type, ...] = ()
    is_list: bool = False
    from_table: Callable[[object], Any] | None = None


def _boolean(text: str) -> bool:
    if text not in ("true", "false"):
        raise ValueError("must be true or false")
    return text == "true"


def _whole(text: str) -> int:
    if not _WHOLE.fullmatch(text):
        raise ValueError("must be a whole number")
    return int(text)


def _number(text: str) -> float:
    if not _NUMBER.fullmatch(text):
        raise ValueError("must be a number")
    return float(text)


def _text(text: str) -> str:
    if _CONTROL.search(text):
        raise ValueError("must not hold line breaks or control characters")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("must be UTF-8") from None
    return str(text)


def _path(text: str) -> Path:
    if not text:
        raise ValueError("must be a path")
    if text.startswith("~"):
        raise ValueError("must not start with ~: write the home directory out, or ${HOME} in the file")
    return Path(_text(text)).absolute()


def _time(text: str) -> datetime:
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        time = None
    if time is None or time.utcoffset() is None:
        raise ValueError("must be a time with its offset from UTC, such as 2026-11-30T12:00:00Z")
    return time


def _paths(text: str) -> Paths:
    return Paths(_path(part.strip()) for part in text.split(",")) if text.strip() else Paths()


def _log_output(text: str) -> LogOutput:
    if text == "off":
        return "off"
    if text == "stdout":
        return "stdout"
    if "/" not in text:  # a misspelt word must not become a file
        raise ValueError("must be off, stdout, or the path of a file with a / in it")
    return _path(text)


def _networks(text: str) -> Networks:
    try:
        return tuple(ip_network(part.strip()) for part in text.split(",")) if text.strip() else ()
    except ValueError:
        raise ValueError("must be networks in CIDR form, such as 10.0.0.0/8, without host bits") from None


def _packages(text: str) -> Packages:
    parts = [part.strip() for part in text.split(",")] if text.strip() else []
    if not all(_PACKAGE.fullmatch(part) for part in parts) or len(set(parts)) != len(parts):
        raise ValueError("must be names of Python packages, or absolute paths of their folders, each once")
    return Packages(parts)


def _words(text: str) -> Words:
    parts = [_text(part.strip()) for part in text.split(",")] if text.strip() else []
    if not all(SHORTEST_WORD <= len(part) <= LONGEST_WORD for part in parts):
        raise ValueError(f"must be words, each of {SHORTEST_WORD} to {LONGEST_WORD} characters")
    return Words(parts)


def _names(text: str) -> Names:
    parts = [part.strip() for part in text.split(",")] if text.strip() else []
    if not all(_NAME.fullmatch(part) for part in parts) or len(set(parts)) != len(parts):
        raise ValueError("must be names in small letters, each once")
    return Names(parts)


def _digests(text: str) -> Digests:
    parts = [part.strip() for part in text.split(",")] if text.strip() else []
    if not all(_DIGEST.fullmatch(part) for part in parts):
        raise ValueError("must be SHA-256 digests, each of 64 digits of 0-9 and a-f")
    return Digests(parts)


def _origins(text: str) -> Origins:
    parts = text.split(",") if text.strip() else []
    return Origins(dict.fromkeys(_origin(part.strip()) for part in parts))


def _origin(text: str) -> str:
    """Return an origin as browsers write it: in lower case, and without the default port."""
    form = _ORIGIN.fullmatch(text.lower()) if text.isascii() else None
    if form is None or (form[3] and not 0 < int(form[3]) <= _HIGHEST_PORT):
        raise ValueError(
            "must be origins such as https://app.example.com or http://localhost:3000, without a path or a "
            "slash at the end; * and null are not accepted, and names that are not ASCII are written as xn--…"
        )
    scheme, host, port = form.groups()
    return f"{scheme}://{_host(host)}" + (
        f":{int(port)}" if port and int(port) != _DEFAULT_PORTS[scheme] else ""
    )


def _host(text: str) -> str:
    # The URL Standard §3.5: what ends in a number is an IPv4 address, which has several spellings.
    try:
        if text.startswith("["):
            return f"[{IPv6Address(text[1:-1]).compressed}]"
        return str(IPv4Address(text)) if _LAST_IS_NUMBER.fullmatch(text) else text
    except ValueError:
        raise ValueError("must be origins whose host is a name or a complete IP address") from None


_KINDS: dict[Any, Kind] = {
    bool: Kind("true or false", _boolean, (bool,)),
    int: Kind("whole number", _whole, (int,)),
    float: Kind("number", _number, (float, int)),
    OptionalNumber: Kind("number", _number, (float, int)),
    OptionalWhole: Kind("whole number", lambda text: _whole(text) if text else None, (int,)),
    str: Kind("text", _text),
    Path: Kind("path", _path),
    OptionalPath: Kind("path", lambda text: _path(text) if text else None),
    LogOutput: Kind("off, stdout, or path", _log_output),
    OptionalTime: Kind("time", lambda text: _time(text) if text else None),
    Networks: Kind("list of networks", _networks, is_list=True),
    Paths: Kind("list of paths", _paths, is_list=True),
    Digests: Kind("list of digests", _digests, is_list=True),
    Words: Kind("list of words", _words, is_list=True),
    Names: Kind("list of names", _names, is_list=True),
    Packages: Kind("list of packages", _packages, is_list=True),
    Origins: Kind("list of origins", _origins, is_list=True),
    ChatDestinations: Kind("tables by name", chats_of_text, from_table=chats_of_table),
    EventDestinations: Kind(
        "tables by name", event_destinations_of_text, from_table=event_destinations_of_table
    ),
    Destinations: Kind("tables by name", destinations_of_text, from_table=destinations_of_table),
    Providers: Kind("list of tables", providers_of_text, from_table=providers_of_tables),
}


def kind_of(annotation: Any) -> Kind:
    """Return the kind for a field's annotation; KeyError for a type that no setting may have."""
    if get_origin(annotation) is not Literal:
        return _KINDS[annotation]
    choices: tuple[str, ...] = get_args(annotation)

    def choice(text: str) -> str:
        if text not in choices:
            raise ValueError(f"must be one of {', '.join(choices)}")
        return str(text)

    return Kind("one of " + ", ".join(choices), choice)


def from_toml(kind: Kind, value: object) -> Any:
    """Return ``value`` of a TOML file as the kind's type; ValueError if it has another type."""
    if isinstance(value, Substituted):
        return kind.from_text(value)
    if kind.from_table:
        return kind.from_table(value)
    if kind.toml:
        if type(value) not in kind.toml:
            raise ValueError(
                f"must be a {kind.words}" if kind.words != "true or false" else "must be true or false"
            )
        return float(value) if float in kind.toml else value  # type: ignore[arg-type]  # checked above
    if kind.is_list:
        if not isinstance(value, list) or not all(
            isinstance(part, str) and "," not in part for part in value
        ):
            raise ValueError("must be a list of texts")
        return kind.from_text(",".join(value))
    if not isinstance(value, str):
        raise ValueError("must be a text")  # noqa: TRY004 - a fault of the operator, reported like the others
    return kind.from_text(value)


def to_text(value: object) -> str:
    """Return ``value`` as text, so that ``from_text`` of its kind reads the same value back."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    return str(value)
