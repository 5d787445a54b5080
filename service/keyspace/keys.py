"""The names of all keys: documented ones, and their keys on a cluster.

The functions return documented names. ``Names.of`` makes the key of one: on one server, and behind Sentinel,
it is the same text. A cluster keeps the keys of a hash tag together, on the server that has its slot
(https://valkey.io/topics/cluster-spec/#hash-tags). So there the id of a user stands in braces, and a refresh
id begins with a tag of this kind. Keys without a user are kept in ``PARTS`` parts, whose tags are spread over
all slots. A cluster that is resharded moves parts, and their number stays.
"""

import re
from collections.abc import Sequence
from itertools import count
from typing import Final

from redis.crc import key_slot

BANNED = b"banned"
PROBE = "auth:probe"
POLICY_REVISION = "policy:revision"
ALL_RIGHTS = "auth:rights"
EPOCH_LIFE: Final = 86_400
"""Seconds for which an epoch of rights is kept; a new one costs each worker one query."""
AHEAD = "auth:ahead"
ONLINE = "auth:online"
PAGE = "auth:online:page"
"""The intersection of several indexes, while a page is read."""
REVOCATIONS = "auth:revocations"
FOLLOWERS = "auth:followers"
LOG_STREAM = "auth:log:stream"
LOG_COUNTS = "auth:log:counts"
LOG_HEADS = "auth:log:heads"

SLOTS: Final = 16_384
PARTS: Final = 64
QUEUES: Final = 8
"""Number of parts with streams, of log entries and of revocations: readers read all of them."""


def deny(login_id: str) -> str:
    """Name the deny marker of a user."""
    return f"auth:deny:{login_id}"


def ban(login_id: str) -> str:
    """Name the details of a user's ban."""
    return f"auth:ban:{login_id}"


def device(login_id: str, device: str) -> str:
    """Name a device session."""
    return f"auth:device:{login_id}:{device}"


def devices(login_id: str) -> str:
    """Name the index of a user's sessions."""
    return f"auth:devices:{login_id}"


def id_token(login_id: str, device: str) -> str:
    """Name the ID token of the sign-in at a provider by which a session was opened."""
    return f"auth:idtoken:{login_id}:{device}"


def streams(login_id: str, device: str) -> str:
    """Name the leases of the event streams of a session."""
    return f"auth:streams:{login_id}:{device}"


def rights(login_id: str) -> str:
    """Name the epoch of a user's rights; each change of them removes it."""
    return f"auth:rights:{login_id}"


def refresh(rid: str) -> str:
    """Name a live refresh id."""
    return f"auth:refresh:{rid}"


def spent(rid: str) -> str:
    """Name a refresh id that was used, or whose session has ended."""
    return f"auth:spent:{rid}"


def checkpoint(restore_epoch: str) -> str:
    """Name the newest policy revision that was in force in a restore epoch of the database."""
    return f"policy:witness:{restore_epoch}"


def undelivered(login_id: str, device: str, issued: int) -> str:
    """Name the key of tokens not known to be delivered; ``issued`` is their ``iat`` in milliseconds."""
    return f"auth:undelivered:{login_id}:{device}:{issued}"


def challenge(name: str) -> str:
    """Name a challenge that waits for an answer."""
    return f"auth:challenge:{name}"


def online(kind: str, value: str) -> str:
    """Name an index of sessions by ``user``, ``ip`` or ``device``."""
    return f"auth:online:{kind}:{value}"


def log_sent(worker: str) -> str:
    """Name the number of the last batch that a worker has put into the stream."""
    return f"auth:log:sent:{worker}"


def log_activity(hour: int) -> str:
    """Name the counts of an hour, which is counted since the epoch."""
    return f"auth:log:activity:{hour}"


def known_device(fingerprint: str) -> str:
    """Name the key that remembers a successful login from this device."""
    return f"rate:known:{fingerprint}"


def known_address(fingerprint: str) -> str:
    """Name the key that remembers a successful login from this address."""
    return f"rate:address:{fingerprint}"


def attempts(most: int, window: int, name: Sequence[str]) -> str:
    """Name the count of attempts at ``name``, of which ``most`` are allowed in ``window`` seconds.

    That of the window before it has the same name with ``/-1`` behind it. The braces keep both on one server
    of a cluster.
    """
    return f"rate:{{LIMITER/{'/'.join(name)}/{most}/{window}/second}}"


class Names:
    """The keys of one server: the documented names, unchanged."""

    apart = False
    """True if keys that a script needs may be on different servers."""
    tags: Sequence[str] = ("",)
    """The tags of all parts, in the order of their slots."""
    queues: Sequence[str] = ("",)
    """The tags of the parts that have streams."""

    def of(self, name: str, tag: str = "") -> str:  # noqa: ARG002 - a cluster needs it
        """Return the key with the documented ``name``, of the part ``tag`` if it belongs to no user."""
        return name

    def refresh_id(self, login_id: str, rid: str) -> str:  # noqa: ARG002
        """Return ``rid`` as the refresh id of a user; its text determines the server with its keys."""
        return rid

    def part(self, text: str) -> str:  # noqa: ARG002
        """Return the tag of the part that ``text`` belongs to: a user's id, or the name of a counter."""
        return ""


_OF_USER: Final = frozenset(
    {"deny", "ban", "rights", "devices", "device", "idtoken", "undelivered", "streams"}
)
_OF_PART: Final = re.compile(r"auth:(?:online|rights|ahead|probe|log:[a-z]+)|policy:[a-z]+|rate")


class ClusterNames(Names):
    """The keys of a cluster."""

    apart = True

    def __init__(self) -> None:
        tags: dict[int, str] = {}
        for number in count():
            tags.setdefault(key_slot(b"p%d" % number) * PARTS // SLOTS, f"p{number}")
            if len(tags) == PARTS:
                break
        self.tags = [tags[part] for part in range(PARTS)]
        self.queues = self.tags[:: PARTS // QUEUES]

    def of(self, name: str, tag: str = "") -> str:
        """Return the key: the user's id in braces, or the tag behind the fixed part of the name."""
        if tag:
            fixed = _OF_PART.match(name)
            end = fixed.end() if fixed else len(name)
            return f"{name[:end]}{{{tag}}}{name[end:]}"
        family, kind, *rest = name.split(":", 3)  # several for each login and refresh: no pattern
        if family != "auth" or kind not in _OF_USER or not rest or not rest[0].isdigit():
            return name
        return ":".join(("auth", kind, f"{{{rest[0]}}}", *rest[1:]))

    def refresh_id(self, login_id: str, rid: str) -> str:
        """Return ``{7}.`` and the refresh id, for user 7."""
        tag = f"{{{login_id}}}."
        return rid if rid.startswith(tag) else tag + rid

    def part(self, text: str) -> str:
        """Return the tag of the part whose slots have that of ``text``."""
        return self.tags[key_slot(text.encode()) * PARTS // SLOTS]


def slot_of(key: str | bytes) -> int:
    """Return the slot of a key of a cluster."""
    return key_slot(key.encode() if isinstance(key, str) else key)
