"""Who follows: what the hub keeps of each process, and which of them are shown."""

from collections.abc import Iterable
from typing import Final, NamedTuple

import msgspec
from msgspec import Struct

from service.features.follower.protocol import is_visible

_SHOWN_FOR: Final = 86_400.0  # seconds after its last renewal
_REPLACED_FOR: Final = 3_600.0  # seconds that a process is kept after which another one came with its name


def is_reached(place: str, at: str) -> bool:
    """Tell whether who is at the place ``at`` has what is before ``place``, both of the same lists."""
    pairs = [(_ids(each), _ids(other)) for each, other in zip(place.split(","), at.split(","), strict=False)]
    return place.count(",") == at.count(",") and all(each <= other for each, other in pairs)


def _ids(place: str) -> list[int]:
    return [int(number) for number in place.split("-") if number]


class FollowerFacts(Struct, frozen=True):
    """What is kept of a follower: who it is, what it has, and until when it may decide by that."""

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
        """As what it is shown: the account, and the name that it has given itself."""
        return self.user_id, self.name

    @property
    def key(self) -> str:
        """By what it is known: one process of that name; those of an older version are one."""
        name = f"{self.user_id}:{self.name}"
        return f"{name}:{self.instance}" if self.instance else name

    def may_decide(self, now: float) -> bool:
        """Whether its lease lasts at ``now``, by the hub's time."""
        return now < self.seen + self.lease

    def has(self, revision: int, transaction: int, revoked: str) -> bool:
        """Whether it has a revision, what a transaction has changed, and the revocations up to a place."""
        visible = self.revision >= revision and is_visible(transaction, self.snapshot)
        return visible and is_reached(revoked, self.revoked)


class Listed(NamedTuple):
    """Those that are shown, by name, and the keys of those that can be forgotten."""

    shown: list[FollowerFacts]
    over: list[str]


def listed(kept: Iterable[bytes], now: float) -> Listed:
    """Return who follows or has followed, at ``now`` by the hub's time, of what is kept of them.

    A process that has no lease any more is left out where a later one has its name.
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
