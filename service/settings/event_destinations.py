"""Destinations of events about rights: their members, read strictly from a table of the file or from JSON."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TypeAlias, get_args

from service.settings.event_kinds import EVENT_KINDS, EventKind
from service.settings.members import choice, from_json, member, read_table
from service.settings.webhook_members import (
    absolute,
    seconds,
    signing_secret,
    webhook_url,
    whether_internal,
)

EventInclude: TypeAlias = Literal["user_name", "nick_name", "email"]
"""Personal data of the user that an event is about, sent to a destination that asks for it."""

INCLUDES: Final[tuple[EventInclude, ...]] = get_args(EventInclude)


def _kinds(value: object) -> tuple[EventKind, ...]:
    if not isinstance(value, list) or not value or len({*map(str, value)}) != len(value):
        raise ValueError("must have kinds as a list, each once")
    return tuple(map(choice(*EVENT_KINDS), value))


def _include(value: object) -> tuple[EventInclude, ...]:
    if not isinstance(value, list) or len({*map(str, value)}) != len(value):
        raise ValueError("must have include as a list, each once")
    return tuple(map(choice(*INCLUDES), value))


@dataclass(frozen=True, slots=True, kw_only=True)
class EventDestination:
    """A receiver of webhooks; ``docs/guides/events.md`` explains the members.

    ``url`` is a secret: its path may have a token. ``internal`` allows private addresses, and http.
    ``timeout`` is in seconds, for one attempt.
    """

    name: str
    url: str = member(webhook_url, "", secret=True)
    url_file: Path | None = member(absolute, None)
    secret: str = member(signing_secret, "", secret=True)
    secret_file: Path | None = member(absolute, None)
    kinds: tuple[EventKind, ...] = member(_kinds, EVENT_KINDS)
    include: tuple[EventInclude, ...] = member(_include, ())
    internal: bool = member(whether_internal, False)
    timeout: float = member(seconds, 10.0)

    def complaints(self) -> Iterator[str]:
        """Yield half a sentence for each fault between members."""
        if bool(self.url) == bool(self.url_file):
            yield "needs one of url and url_file"
        if self.url.startswith("http:") and not self.internal:
            yield "has a url of http, which only internal destinations may have"
        if bool(self.secret) == bool(self.secret_file):
            yield "needs one of secret and secret_file, with which events are signed"


class EventDestinations(tuple[EventDestination, ...]):
    """Destinations with different names."""

    __slots__ = ()


def event_destinations_of_text(text: str) -> EventDestinations:
    """Return the destinations of a JSON object, by name; none for an empty text. Raises ValueError."""
    return event_destinations_of_table(from_json(text, "a JSON object of destinations by name", {}))


def event_destinations_of_table(value: object) -> EventDestinations:
    """Return the destinations of a table, by name. Raises ValueError, without any value of a member."""
    if not isinstance(value, dict):
        raise ValueError("must be a table of destinations by name")  # noqa: TRY004 - a fault of the operator
    return EventDestinations(
        read_table(EventDestination, name, members, name=name) for name, members in value.items()
    )
