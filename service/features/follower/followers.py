"""Followers: data of each process in the hub, and the list of followers."""

from collections.abc import Iterable
from typing import Final, NamedTuple

import msgspec
from msgspec import Struct

from service.features.follower.protocol import is_visible

_SHOWN_FOR: Final = 86_400.0  # seconds after its last renewal
_REPLACED_FOR: Final = 3_600.0  # seconds after its last renewal, if another process has its name


def is_reached(place: str, at: str) -> bool:
    """Return true if the place ``at`` has reached ``place``; both are of the same lists."""
    pairs = [(_ids(each), _ids(other)) for each, other in zip(place.split(","), at.split(","), strict=False)]
    return place.count(",") == at.count(",") and all(each <= other for each, other in pairs)


def _ids(place: str) -> list[int]:
    return [int(number) for number in place.split("-") if number]


class FollowerFacts(Struct, frozen=True):
    """Data of a follower: its account, its state, and the expiry of its lease."""

    name: str
    user_id: int
    user_name: str
    services: tuple[str, ...]
    revision: int
    snapshot: str
    rights: int
    seen: float
    lease: float
    revoked: str = ""
    instance: str = ""

    @property
    def shown_as(self) -> tuple[int, str]:
        """Return the identity in the list: the account, and the name chosen by the follower."""
        return self.user_id, self.name

    @property
    def key(self) -> str:
        """Return the key: one process of that name; processes of older versions share a key."""
        name = f"{self.user_id}:{self.name}"
        return f"{name}:{self.instance}" if self.instance else name

    def may_decide(self, now: float) -> bool:
        """Return true if its lease is valid at ``now``, by the hub's time."""
        return now < self.seen + self.lease

    def has(self, revision: int, transaction: int, revoked: str) -> bool:
        """Return true if it has a revision, a transaction's changes, and the revocations up to a place."""
        visible = self.revision >= revision and is_visible(transaction, self.snapshot)
        return visible and is_reached(revoked, self.revoked)


class Listed(NamedTuple):
    """The listed followers, by name, and the keys of those that can be deleted."""

    shown: list[FollowerFacts]
    over: list[str]


def listed(kept: Iterable[bytes], now: float) -> Listed:
    """Return the present and former followers among ``kept``, at ``now`` by the hub's time.

    A process without a lease is omitted if a later one has its name.
    """
    in_order = sorted(map(_facts.decode, kept), key=lambda each: each.seen)
    latest = {each.shown_as: each.key for each in in_order}
    shown, over = [], []
    for each in in_order:
        is_latest = latest[each.shown_as] == each.key
        if each.seen <= now - (_SHOWN_FOR if is_latest else _REPLACED_FOR):
            over.append(each.key)
        elif is_latest or each.may_decide(now):
            shown.append(each)
    return Listed(sorted(shown, key=lambda each: each.key), over)


_facts: Final = msgspec.json.Decoder(FollowerFacts)
