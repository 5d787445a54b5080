"""Destinations of notices in a chat: their members, read strictly from a table of the file or from JSON."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TypeAlias, get_args

from service.settings.members import choice, from_json, member, read_table
from service.settings.webhook_members import (
    absolute,
    seconds,
    signing_secret,
    webhook_url,
    whether_internal,
)

ChatFormat: TypeAlias = Literal["slack", "teams", "standard"]
ChatKind: TypeAlias = Literal[
    "access_request_made",
    "access_request_ended",
    "emergency_given",
    "review_opened",
    "review_due",
    "review_closed",
    "policy_signed_off",
]
"""Kinds of notices that a chat can get: about requests for roles, reviews and sign-offs, without secrets."""

KINDS: Final[tuple[ChatKind, ...]] = get_args(ChatKind)


def _kinds(value: object) -> tuple[ChatKind, ...]:
    if not isinstance(value, list) or not value or len({*map(str, value)}) != len(value):
        raise ValueError("must have kinds as a list, each once")
    return tuple(map(choice(*KINDS), value))


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatDestination:
    """Where notices are posted; ``docs/guides/chat.md`` explains the members.

    ``url`` is a secret: its path opens the channel. ``internal`` allows private addresses, and http.
    ``timeout`` is in seconds, for one attempt.
    """

    name: str
    url: str = member(webhook_url, "", secret=True)
    url_file: Path | None = member(absolute, None)
    format: ChatFormat = member(choice(*get_args(ChatFormat)), needed="a format")
    kinds: tuple[ChatKind, ...] = member(_kinds, KINDS)
    secret: str = member(signing_secret, "", secret=True)
    secret_file: Path | None = member(absolute, None)
    internal: bool = member(whether_internal, False)
    timeout: float = member(seconds, 10.0)

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
