"""What the session store takes and gives: plain values, times in milliseconds unless they say seconds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from msgspec import Struct


class SessionFacts(Struct, frozen=True):
    """What is known of a device session when it opens."""

    user_name: str
    nick_name: str
    login_ip: str
    user_agent: str
    browser: str
    os: str


class DeviceSession(Struct, frozen=True):
    """A device session as it is stored; times in seconds since the epoch, with a fraction."""

    rid: str = ""
    login_time: float = 0.0
    last_refresh_time: float = 0.0
    user_name: str = ""
    nick_name: str = ""
    login_ip: str = ""
    user_agent: str = ""
    browser: str = ""
    os: str = ""


@dataclass(frozen=True, slots=True)
class Opening:
    """What came of opening a session.

    ``opened``: ``issued`` and ``ends`` are the moments for the tokens, and ``ended`` are the devices that had
    to go. ``stale``: the user changed since the caller read them. ``banned``: ``until`` is when that ends.
    """

    outcome: Literal["opened", "stale", "banned"]
    issued: int = 0
    ends: int = 0
    ended: tuple[str, ...] = ()
    until: int | None = None


@dataclass(frozen=True, slots=True)
class Lease:
    """The right of one request to hand out the tokens of a rotation.

    ``until`` is when it ends by the store, ``by`` when it ends at the latest for
    the request, in seconds of ``time.monotonic``.
    """

    login_id: str
    device: str
    issued: int
    until: int
    by: float


@dataclass(frozen=True, slots=True)
class Rotation:
    """What came of rotating a refresh id.

    ``rotated`` and ``again`` (the same successor: nobody has got it, or within the grace): ``rid``,
    ``device``, ``issued`` and ``ends`` are for the tokens, and ``lease`` is for handing them out.
    ``pending``: another request is about to hand the successor out. ``reused``: the session on ``device``
    was ended. ``superseded``, ``ended`` and ``unknown`` are refused. ``late``: the store came to it after
    its caller had given up, and did nothing. ``stale`` and ``banned`` as for ``Opening``.
    """

    outcome: Literal[
        "rotated", "again", "pending", "late", "stale", "banned", "unknown", "superseded", "reused", "ended"
    ]
    rid: str = ""
    device: str = ""
    issued: int = 0
    ends: int = 0
    until: int | None = None
    lease: Lease | None = field(default=None, compare=False)


class BanNote(Struct, frozen=True):
    """What a ban was for; ``since`` in seconds; ``cached`` when it repeats one of the database."""

    reason: str = ""
    since: float = 0.0
    cached: bool = False


@dataclass(frozen=True, slots=True)
class Ban:
    """A ban in force; ``until`` is None when it doesn't end by itself."""

    until: int | None
    note: BanNote


@dataclass(frozen=True, slots=True)
class OnlineSession:
    """One row of the online list."""

    login_id: str
    device: str
    session: DeviceSession


@dataclass(frozen=True, slots=True)
class OnlinePage:
    """A page of the online list: how many live sessions fit, exactly, and where the next page starts."""

    total: int
    rows: tuple[OnlineSession, ...]
    next_cursor: str | None
