"""Data sent to followers: see docs/explanation/decisions-beside-services.md.

Imports no module that reads a store, because followers import this module.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from hashlib import blake2b
from typing import Any, Final, TypeAlias

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from service.authz.engine.lines import Lines, Objects
from service.authz.engine.rules import ACCOUNT, ASSURANCE, PERMISSION, PREFLIGHT, RESOURCE, SERVICE
from service.kernel.services import split_object

PATH: Final = "/access/v1/follow"
LONGEST_WAIT: Final = 1.0
"""Maximum seconds that the hub waits for changes."""
LONGEST_LEASE: Final = 60.0
"""Maximum seconds of a lease."""
MOST_RECORDS: Final = 5_000
"""Maximum number of users, roles and keys in an answer."""
_ASKING: Final = ("evaluate ", "forward ")
_ACTING: Final = "act-for "
_SNAPSHOT: Final = re.compile(r"[0-9]{1,18}:[0-9]{1,18}:([0-9]{1,18}(,[0-9]{1,18}){0,2000})?")
_SIZE: Final = 16  # bytes of digests


class KeyRecord(Struct, array_like=True, frozen=True):
    """An API key: ``ends`` in seconds since the epoch, None for no end; no ``scopes`` but None are all."""

    id: int
    user_id: int
    scopes: tuple[str, ...] | None
    ends: float | None


class RoleRecord(Struct, array_like=True, frozen=True):
    """The current permission codes of a role."""

    id: int
    codes: tuple[str, ...]


class Window(Struct, array_like=True, frozen=True):
    """A role from ``begins`` on and no longer at ``ends``, in seconds since the epoch; None for neither."""

    role: int
    begins: float | None
    ends: float | None


class UserRecord(Struct, array_like=True, frozen=True):
    """A user; ``banned_until`` in seconds since the epoch: 0 for no ban, -1 for one without end.

    ``name`` is the digest of the name key; ``service_name`` is the user name of a service account.
    """

    id: int
    enabled: bool
    is_service: bool
    service: str | None
    banned_until: float
    name: bytes
    service_name: str | None
    roles: tuple[int, ...]
    windows: tuple[Window, ...]


class AgentRecord(Struct, array_like=True, frozen=True):
    """An agent that is switched on and not suspended, by the id of its account; and its owner."""

    id: int
    owner: int


class DelegationRecord(Struct, array_like=True, frozen=True):
    """What a user lets an agent do, until ``ends`` in seconds since the epoch."""

    id: int
    user_id: int
    agent_id: int
    codes: tuple[str, ...]
    ask_me: tuple[str, ...]
    services: tuple[str, ...]
    ends: float


Record: TypeAlias = KeyRecord | RoleRecord | UserRecord | AgentRecord | DelegationRecord


class Checked(Struct, array_like=True, frozen=True):
    """The digest of all records behind ``after`` up to ``last``, each a noun and an id; None for the end.

    It is the digest after the follower has applied the answer. ``acting`` is that of the agents among these
    users, and then of the delegations of these users; None if the hub sends none.
    """

    after: tuple[str, int]
    last: tuple[str, int] | None
    digest: str
    acting: str | None = None


class PolicyPart(Struct, frozen=True, omit_defaults=True):
    """The lines of a revision: all of them, or what came and went since the follower's.

    ``bits`` are None where they are as before.
    """

    revision: int
    own_digest: str
    model: str | None = None
    lines: dict[str, dict[str, tuple[str, ...]]] | None = None
    added: list[tuple[str, str, str]] = []
    removed: list[tuple[str, str, str]] = []
    bits: dict[str, int] | None = None


class TokenRules(Struct, frozen=True):
    """Parameters for verifying tokens; ``keys`` are the public keys (JWK).

    ``life`` is the maximum lifetime in seconds of access tokens that may still be valid. Tokens from before
    the setting was lowered count.
    """

    algorithm: str
    issuer: str
    audience: str
    leeway: float
    life: float
    restore_epoch: str
    keys: list[dict[str, Any]]


class Account(Struct, frozen=True):
    """The account that follows: a caller that asks."""

    user_id: int
    user_name: str
    service: str | None
    codes: tuple[str, ...]


class Changes(Struct, frozen=True, omit_defaults=True):
    """The changes that a follower lacks, as of a moment after its renewal arrived.

    ``reset``: the follower discards its data. ``more``: further parts follow, and the follower uses its
    former data until the last part. ``time`` is the time of the hub, in seconds since the epoch. ``digest``
    is that of all lines of the follower after this answer; ``checked`` covers another part of the rights each
    time. ``rights`` and ``snapshot`` are the transactions of the follower after this answer.
    ``whole_since`` comes with all kept revocations: the time of the oldest, in milliseconds. With each user
    come all of the user's ``delegations``, and the user's record in ``agents`` if the user is an agent.
    ``acting`` is the switch of all agents; None if the hub sends no agents: then all their tokens are
    refused.
    """

    nonce: str
    time: float
    position: str
    revision: int
    rights: int
    snapshot: str
    digest: str
    tokens: TokenRules
    account: Account
    reset: bool = False
    more: bool = False
    policy: PolicyPart | None = None
    keys: list[KeyRecord] = []
    roles: list[RoleRecord] = []
    users: list[UserRecord] = []
    gone: list[tuple[str, int]] = []
    marked: list[str] = []
    ended: list[str] = []
    whole_since: int | None = None
    checked: Checked | None = None
    agents: list[AgentRecord] = []
    delegations: list[DelegationRecord] = []
    acting: bool | None = None

    @property
    def has_news(self) -> bool:
        """Return true if the follower lacks anything."""
        lists = (self.keys, self.roles, self.users, self.gone, self.marked, self.ended)
        return self.reset or self.more or self.policy is not None or any(lists)


class Followed(Struct, frozen=True):
    """The followed services; selects the lines about them, with ``acting`` also those about agents."""

    services: frozenset[str]
    acting: bool = False

    def concerns(self, layer: str, name: str) -> bool:
        """Return true if a question about one of the services may need the lines of this object."""
        if layer == RESOURCE:
            return name == PREFLIGHT or split_object(name)[0] in self.services
        if layer == ASSURANCE:
            kind, _, resource = name.partition(" ")
            return kind == RESOURCE and self.concerns(RESOURCE, resource)
        if layer == SERVICE:
            return name in self.services
        if layer == PERMISSION:
            return name.partition(":")[0] in self.services
        asked = (*_ASKING, _ACTING) if self.acting else _ASKING
        return layer == ACCOUNT and name.startswith(asked)

    def of(self, lines: Lines) -> dict[str, dict[str, tuple[str, ...]]]:
        """Return the lines that concern the services."""
        return {
            layer: {name: codes for name, codes in objects.items() if self.concerns(layer, name)}
            for layer, objects in lines.by_object.items()
            if layer in (RESOURCE, ASSURANCE, SERVICE, PERMISSION, ACCOUNT)
        }


class SetDigest:
    """A digest of a set of lines that can be updated: the sum of the digests of its objects.

    It detects changes that were lost or applied twice. It does not authenticate the set.
    """

    __slots__ = ("_sum",)

    def __init__(self, objects: Objects) -> None:
        self._sum = 0
        for layer, names in objects.items():
            for name, codes in names.items():
                self.add(layer, name, codes)

    def add(self, layer: str, name: str, codes: Collection[str], sign: int = 1) -> None:
        """Add an object with its codes, or remove it with ``sign`` -1."""
        if codes:
            lines = "\n".join((layer, name, *sorted(codes))).encode()
            digest = blake2b(lines, digest_size=_SIZE).digest()
            self._sum = (self._sum + sign * int.from_bytes(digest)) % (1 << 8 * _SIZE)

    @property
    def text(self) -> str:
        """Return the digest in hexadecimal."""
        return f"{self._sum:032x}"


def rights_digest(records: Iterable[Record]) -> str:
    """Return the digest of records in the given order."""
    digest = blake2b(digest_size=_SIZE)
    for record in records:
        digest.update(msgspec.json.encode(_in_order(record)))
    return digest.hexdigest()


def _in_order(record: Record) -> Struct:
    """Return a record with its lists sorted."""
    match record:
        case AgentRecord():
            return record
        case DelegationRecord(codes=codes, ask_me=ask_me, services=services):
            codes, ask_me, services = (tuple(sorted(each)) for each in (codes, ask_me, services))
            return replace(record, codes=codes, ask_me=ask_me, services=services)
        case KeyRecord():
            return replace(record, scopes=None if record.scopes is None else tuple(sorted(record.scopes)))
        case RoleRecord():
            return replace(record, codes=tuple(sorted(record.codes)))
        case UserRecord():
            windows = tuple(sorted(record.windows, key=msgspec.json.encode))
            return replace(record, roles=tuple(sorted(record.roles)), windows=windows)


def name_digest(name_key: str, key: bytes) -> bytes:
    """Return the digest of a name key; ``key`` is the follower's."""
    return blake2b(name_key.encode(), key=key, digest_size=_SIZE).digest()


def bits_digest(bits: Mapping[str, int]) -> str:
    """Return a short digest of a permission map."""
    text = "\n".join(f"{code}={bit}" for code, bit in sorted(bits.items()))
    return blake2b(text.encode(), digest_size=8).hexdigest()


def is_snapshot(text: str) -> bool:
    """Return true if a text is a ``pg_snapshot``: low, high, and the running transactions between them."""
    if _SNAPSHOT.fullmatch(text) is None:
        return False
    low, high, running = text.split(":")
    numbers = [int(each) for each in running.split(",") if each]
    in_order = numbers == sorted({*numbers}) and all(int(low) <= each < int(high) for each in numbers)
    return 0 < int(low) <= int(high) and in_order


def is_visible(transaction: int, snapshot: str) -> bool:
    """Return true if a transaction is visible in a ``pg_snapshot``, given as text; false for ""."""
    if not snapshot:
        return False
    low, high, running = snapshot.split(":")
    if transaction < int(low):
        return True
    return transaction < int(high) and str(transaction) not in running.split(",")
