"""The content of a follower's file: MessagePack, sealed with HMAC-SHA-256, encoded in small pieces.

Encoding a hundred thousand users at once would block answers for a twentieth of a second.
"""

import hmac
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import Struct

from service.features.follower.protocol import (
    Account,
    AgentRecord,
    DelegationRecord,
    KeyRecord,
    TokenRules,
    UserRecord,
)

_MARGIN: Final = 60.0  # seconds of clock differences
_PORTION: Final = 500
"""Items encoded at once, in a fifth of a millisecond."""
_SEAL: Final = 32  # bytes


class Ended(NamedTuple):
    """Revoked tokens of a session or a user: those issued until ``until``, in ms by the hub's time.

    ``read`` is the time of reading in seconds since boot, and in the file its age in seconds. ``life`` is the
    longest time to live of a token at that time, in seconds.
    """

    until: int
    read: float
    life: float

    def is_over(self, time: float, now: float, life: float) -> bool:
        """Return true if the last of these tokens has expired, by the hub's time and by the clock since boot.

        Both clocks are needed: the hub's time can be ahead for a moment, or could have been when tokens were
        issued.
        """
        return min(time - self.until / 1000, now - self.read) > max(self.life, life) + _MARGIN


class Kept(Struct, frozen=True):
    """The complete state, for the file."""

    form: int
    position: str
    names: bytes
    services: tuple[str, ...]
    lines: dict[str, dict[str, tuple[str, ...]]]
    bits: dict[str, int]
    model: str
    revision: int
    own_digest: str
    digest: str
    rights: int
    snapshot: str
    tokens: TokenRules
    account: Account
    roles: list[tuple[int, tuple[str, ...]]]
    users: list[UserRecord]
    keys: list[KeyRecord]
    acting: bool | None
    agents: list[AgentRecord]
    delegations: list[DelegationRecord]
    marked: dict[int, Ended]
    ended: dict[str, Ended]
    whole_since: int


_encode: Final = msgspec.msgpack.Encoder().encode
_decode: Final = msgspec.msgpack.Decoder(Kept).decode


def pieces(kept: Kept) -> Iterator[bytes]:
    """Yield the content of the file without its seal; each piece takes a fraction of a millisecond.

    Together the pieces are a MessagePack map, as if ``kept`` were encoded at once.
    """
    yield b"\xde" + len(kept.__struct_fields__).to_bytes(2, "big")
    for name in kept.__struct_fields__:
        yield _encode(name)
        yield from _pieces(getattr(kept, name))


def _pieces(value: Any) -> Iterator[bytes]:
    """Yield ``value`` as MessagePack, with the lengths of long arrays and maps in four bytes."""
    if isinstance(value, list) and len(value) > _PORTION:
        yield b"\xdd" + len(value).to_bytes(4, "big")
        yield from _portions(iter(value))
    elif isinstance(value, dict) and any(isinstance(each, dict) for each in islice(value.values(), 1)):
        yield b"\xdf" + len(value).to_bytes(4, "big")
        for key, inner in value.items():
            yield _encode(key)
            yield from _pieces(inner)
    elif isinstance(value, dict) and len(value) > _PORTION:
        yield b"\xdf" + len(value).to_bytes(4, "big")
        yield from _portions(chain.from_iterable(value.items()))
    else:
        yield _encode(value)


def _portions(items: Iterator[Any]) -> Iterator[bytes]:
    while portion := b"".join(map(_encode, islice(items, _PORTION))):
        yield portion


def sealed(content: Iterable[bytes], key: bytes) -> bytes:
    """Return the HMAC-SHA-256 of ``content`` by ``key``, then ``content``; other threads run meanwhile."""
    whole = b"".join(content)
    return hmac.digest(key, whole, "sha256") + whole


def opened(content: bytes, key: bytes) -> Kept:
    """Return the content of a file; raises ValueError unless this version sealed it with ``key``."""
    seal, content = content[:_SEAL], content[_SEAL:]
    if not hmac.compare_digest(hmac.digest(key, content, "sha256"), seal):
        raise ValueError("it is damaged, forged, or sealed by another API key")
    return _decode(content)
