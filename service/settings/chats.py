"""Destinations of notices in a chat: their members, read strictly from a table of the file or from JSON."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, get_args
from urllib.parse import urlsplit

from service.settings.destinations import signing_keys
from service.settings.members import absolute_path, choice, from_json, member, read_table

ChatFormat: TypeAlias = Literal["slack", "teams", "standard"]
ChatKind: TypeAlias = Literal["access_request_made", "access_request_ended", "emergency_given"]
"""Kinds of notices that a chat can get: those about a request for a role, whose texts hold no secret."""

KINDS: Final[tuple[ChatKind, ...]] = get_args(ChatKind)
_VISIBLE: Final = re.compile(r"[\x21-\x7e]+")
_SECONDS: Final = (1, 60)


def chat_url_fault(text: str) -> str | None:
    """Return half a sentence about the fault of a URL, None for a good one; never the URL itself."""
    try:
        parts = urlsplit(text)
        host, _ = parts.hostname, parts.port
    except ValueError:
        host = None
    if not host or parts.scheme not in ("https", "http") or not _VISIBLE.fullmatch(text):
        return "must have a url such as https://hooks.example.com/path"
    if parts.fragment or "@" in parts.netloc:
        return "must have a url without fragment, user or password"
    return None


def _url(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("must have texts")  # noqa: TRY004 - a fault of the operator, as all here
    if complaint := chat_url_fault(value):
        raise ValueError(complaint)
    return value


def _kinds(value: object) -> tuple[ChatKind, ...]:
    if not isinstance(value, list) or not value or len({*map(str, value)}) != len(value):
        raise ValueError("must have kinds as a list, each once")
    return tuple(map(choice(*KINDS), value))


def _path(value: object) -> Path:
    if not isinstance(value, str):
        raise ValueError("must have texts")  # noqa: TRY004 - a fault of the operator, as all here
    return absolute_path(value)


def _secret(value: object) -> str:
    if not isinstance(value, str) or not signing_keys(value):
        raise ValueError("must have a secret that is not empty")
    return value


def _whether(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError("must have internal as true or false")  # noqa: TRY004 - a fault of the operator
    return value


def _timeout(value: Any) -> float:
    if type(value) not in (int, float) or not _SECONDS[0] <= value <= _SECONDS[1]:
        raise ValueError(f"must have a timeout of {_SECONDS[0]} to {_SECONDS[1]}")
    return float(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatDestination:
    """Where notices are posted; ``docs/guides/chat.md`` explains the members.

    ``url`` is a secret: its path opens the channel. ``internal`` allows private addresses, and http.
    ``timeout`` is in seconds, for one attempt.
    """

    name: str
    url: str = member(_url, "", secret=True)
    url_file: Path | None = member(_path, None)
    format: ChatFormat = member(choice(*get_args(ChatFormat)), needed="a format")
    kinds: tuple[ChatKind, ...] = member(_kinds, KINDS)
    secret: str = member(_secret, "", secret=True)
    secret_file: Path | None = member(_path, None)
    internal: bool = member(_whether, False)
    timeout: float = member(_timeout, 10.0)

    def complaints(self) -> Iterator[str]:
        """Yield half a sentence for each fault between members."""
        if bool(self.url) == bool(self.url_file):
            yield "needs one of url and url_file"
        if self.url.startswith("http:") and not self.internal:
            yield "has a url of http, which only internal destinations may have"
        if self.secret and self.secret_file:
            yield "has secret and secret_file: give one of them"
        if (self.format == "standard") != bool(self.secret or self.secret_file):
            yield "needs a secret or secret_file with the format standard, and none with others"


class ChatDestinations(tuple[ChatDestination, ...]):
    """Destinations with different names."""

    __slots__ = ()


def chats_of_text(text: str) -> ChatDestinations:
    """Return the destinations of a JSON object, by name; none for an empty text. Raises ValueError."""
    return chats_of_table(from_json(text, "a JSON object of destinations by name", {}))


def chats_of_table(value: object) -> ChatDestinations:
    """Return the destinations of a table, by name. Raises ValueError, without any value of a member."""
    if not isinstance(value, dict):
        raise ValueError("must be a table of destinations by name")  # noqa: TRY004 - a fault of the operator
    return ChatDestinations(
        read_table(ChatDestination, name, members, name=name) for name, members in value.items()
    )
