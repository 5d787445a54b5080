"""The port by which the core asks who sends a request with an API key; one feature keeps the keys."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Protocol

from service.authn.claims import ClientClaims
from service.authn.throttle import Throttle
from service.authn.verified import Authenticated
from service.kernel.feature import provided, sole
from service.kernel.identity import Caller
from service.kernel.notify import Notices
from service.kernel.text import name_key
from service.keyspace import Answer, SessionStore
from service.records.database.transactions import Database

API_KEY_PREFIX: Final = "pck_"
"""Prefix of every API key."""


@dataclass(slots=True)
class KeyCaller:
    """The caller of a key, the answer of the session store, and the expiry of the key.

    ``expires`` is in seconds since the epoch, None for a key without an expiry. The rights hold until
    ``changes_at``, None for no such instant.
    """

    caller: Caller
    answer: Answer
    expires: float | None
    changes_at: datetime | None = None
    authenticated: Authenticated | None = None
    """The result that ``Authenticator`` made of this caller; None before the first request."""

    @property
    def good_until(self) -> float | None:
        """Return the instant at which the key expires or its rights change, in seconds; None for neither."""
        if self.changes_at is None:
            return self.expires
        changes = self.changes_at.timestamp()
        return changes if self.expires is None else min(self.expires, changes)


class PersonalKeyUses(Protocol):
    """Records the use of people's API keys. Without it, no API key of a person is accepted."""

    def note(self, key_id: int, address: str | None) -> None:
        """Record the use of a key from ``address``, None for an unknown one; returns at once."""

    async def finish(self) -> None:
        """Wait until the recorded uses are written or lost."""


class KeyCallers(Protocol):
    """Finds the caller of an API key, checked at each request."""

    async def of_key(self, text: str, *, counted: bool = True) -> KeyCaller:
        """Return the caller of the API key ``text``.

        Raises ``TokenInvalid`` (malformed, unknown, revoked or wrong: one answer for all), ``TokenExpired``,
        ``AccountBanned`` (disabled accounts too), ``RateLimited`` for an address that tries many wrong keys,
        unless they are not ``counted``, and ``Unavailable``.
        """

    async def of_token(self, claims: ClientClaims) -> KeyCaller:
        """Return the caller of a verified client token; it ends with its key.

        Raises ``TokenInvalid`` (the key was deleted, or is a person's), ``TokenExpired``, ``AccountBanned``,
        ``Unavailable``.
        """

    async def finish(self) -> None:
        """End what still runs in the background."""


def key_callers_of(
    database: Database,
    store: SessionStore,
    throttle: Throttle,
    now: Callable[[], float],
    personal: PersonalKeyUses | None = None,
) -> KeyCallers:
    """Return the finder of the callers of API keys, which expire by ``now``, in seconds since the epoch.

    Without ``personal``, only keys of service accounts are accepted.
    """
    made: KeyCallers = sole("key-callers")(database, store, throttle, now, personal)
    return made


def personal_key_uses(database: Database, notices: Notices, off: Collection[str]) -> PersonalKeyUses | None:
    """Return the recorder of people's keys; None if the feature that makes them is ``off``."""
    makers = tuple(provided("personal-keys", off).values())
    return makers[0](database, notices) if makers else None


def is_api_key(text: str) -> bool:
    """Return True if ``text`` claims to be an API key; no other token has its prefix."""
    return text.startswith(API_KEY_PREFIX)


def is_client(caller: Caller, client_id: str) -> bool:
    """True if ``client_id`` is the number of the caller's API key, or the name of its account."""
    return client_id == str(caller.key_id) or name_key(client_id) == name_key(caller.user_name)
