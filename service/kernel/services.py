"""Services: owners of the routes that resources guard. This one is ``portcullis``; others are registered.

Also their resources and openings, as stored in records and as sources of policy lines.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, NamedTuple

from service.kernel.assurance import words_of

PORTCULLIS: Final = "portcullis"
"""The name of this service itself: reserved, and that of resources that name no other."""

RESERVED: Final = frozenset({"service", "system"})
"""Beginnings of this service's own permission codes, such as ``system:user:list``, which no other has."""

NAME: Final = re.compile(r"[a-z][a-z0-9-]{0,31}")
"""The grammar of the names of services."""


@dataclass(frozen=True, slots=True)
class Service:
    """A service, and how its router reads requests.

    ``ignore_case``: letters of both cases are equal in its paths. ``ignore_trailing_slash``: ``/orders/`` is
    ``/orders``. ``allow_preflight``: preflight requests of browsers, which carry no credentials, may pass.
    """

    name: str
    ignore_case: bool = False
    ignore_trailing_slash: bool = False
    allow_preflight: bool = False


ACTIONS: Final = ("list", "create", "update", "delete", "bind", "open")
"""Acts of administrators on the resources of a service, their bindings and its openings."""

OWN_ACTIONS: Final = ACTIONS[:-1]
"""The same for this service, which has no openings but those of its files."""

OWN: Final = Service(PORTCULLIS)


def is_service_name(text: str) -> bool:
    """True for a lower-case letter, followed by at most 31 lower-case letters, digits and hyphens."""
    return NAME.fullmatch(text) is not None


def is_other_service(name: str) -> bool:
    """True if ``name`` can be that of another service than this one."""
    return name != PORTCULLIS and is_service_name(name)


def split_object(name: str) -> tuple[str, str]:
    """Return the service of an object of the resource layer, and the object without it.

    ``orders GET /orders/{id}`` is ``GET /orders/{id}`` of ``orders``; objects of this service name none.
    """
    if "a" <= name[:1] <= "z":
        service, _, rest = name.partition(" ")
        return service, rest
    return PORTCULLIS, name


def is_own(name: str) -> bool:
    """True if an object of the resource layer is one of this service, or of no service that there is."""
    return split_object(name)[0] == PORTCULLIS and name != "@unknown"


def object_of(service: str, route: str) -> str:
    """Return the object of ``route``, such as ``GET /orders/{id}`` or ``@unregistered``, in ``service``."""
    return route if service == PORTCULLIS else f"{service} {route}"


NO_DEMAND: Final = words_of(None, services=False)
"""The words of an object without a demand: ``@anyone``."""


class BoundResource(NamedTuple):
    """An enabled resource with all its Buttons, as code and whether enabled, sorted by code.

    ``demand`` are the words of its lines of the layer ``assurance``.
    """

    method: str
    path: str
    buttons: Sequence[tuple[str, bool]]
    service: str = PORTCULLIS
    demand: tuple[str, ...] = NO_DEMAND


UNTIL: Final = " until "
"""Stands between the word of an opening and its end: ``@anyone until 2026-12-31T00:00:00Z``."""
_WORD: Final = re.compile(rf"@(?:login|anyone)(?:{UNTIL}[0-9-]{{10}}T[0-9:]{{8}}Z)?")


def with_end(word: str, until: datetime | None) -> str:
    """Return the word of an opening with its end, an instant in whole seconds; None for one without."""
    return word if until is None else f"{word}{UNTIL}{_instant(until)}"


def word_and_end(opened: str) -> tuple[str, datetime | None]:
    """Return the plain word of an opening, and the instant at which it ends; None if it does not."""
    word, until, end = opened.partition(UNTIL)
    return word, datetime.fromisoformat(end) if until else None


def has_ended(opened: str, instant: float) -> bool:
    """True if an opening of this word has ended at ``instant``, in seconds since the epoch."""
    end = word_and_end(opened)[1]
    return end is not None and end.timestamp() <= instant


def is_opening_word(opened: str) -> bool:
    """True for ``@login`` and ``@anyone``, also with an end in whole seconds of UTC, in its only spelling."""
    if _WORD.fullmatch(opened) is None:
        return False
    try:
        return with_end(*word_and_end(opened)) == opened
    except ValueError:
        return False


def _instant(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


class PublishedOpening(NamedTuple):
    """Opening of an object of another service without a permission code.

    ``object`` is an enabled resource or ``@unregistered``, with its service. ``code`` is ``@login`` or
    ``@anyone``, with its expiry if it has one.
    """

    object: str
    code: str
