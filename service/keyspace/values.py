"""Plain values that go into and come out of the session store; times in milliseconds unless noted."""

from dataclasses import dataclass, field
from typing import Any, Literal

from msgspec import UNSET, Struct, UnsetType

from service.kernel.assurance import NAMED, Acr, Authentication


class SessionFacts(Struct, frozen=True):
    """The facts of a device session when it opens.

    Its proof was given at that moment, or at ``auth_time`` (seconds), if that is earlier. For a sign-in at a
    provider it has the name ``sign_in``, and the ``id_token``, which is kept separately.
    """

    user_name: str
    nick_name: str
    login_ip: str
    user_agent: str
    browser: str
    os: str
    acr: Acr = "pwd"
    amr: tuple[str, ...] = ("pwd",)
    auth_time: float | UnsetType = UNSET
    sign_in: str | UnsetType = UNSET
    id_token: str | UnsetType = UNSET


class StepUp(Struct, frozen=True):
    """A new proof in the session on ``device``, which was opened by ``opened_by``, in seconds.

    ``rests_on`` is the strength of the session's proof according to the caller's token. A weaker proof
    replaces it only if the token is right.
    """

    device: str
    opened_by: float
    rests_on: Acr
    acr: Acr
    amr: tuple[str, ...]


class DeviceSession(Struct, frozen=True):
    """A device session as stored; times in seconds since the epoch, with a fraction.

    ``sid`` is its name, which its access tokens carry; empty for a session opened by version 0.2.0 or
    earlier. ``auth_time`` is 0 in such a session: the time of the login counts. ``sign_in`` is the name of
    the sign-in at a provider by which it was opened, empty without one.
    """

    rid: str = ""
    sid: str = ""
    login_time: float = 0.0
    last_refresh_time: float = 0.0
    user_name: str = ""
    nick_name: str = ""
    login_ip: str = ""
    user_agent: str = ""
    browser: str = ""
    os: str = ""
    acr: Acr = "pwd"
    amr: tuple[str, ...] = ("pwd",)
    auth_time: float = 0.0
    sign_in: str = ""


@dataclass(frozen=True, slots=True)
class Opening:
    """The outcome of opening a session.

    ``opened``: ``issued``, ``ends`` and ``sid`` are for the tokens, ``ended`` the devices of the sessions
    that were ended. ``stale``: the user changed after the caller's read. ``banned``: ``until`` the ban's end.
    """

    outcome: Literal["opened", "stale", "banned"]
    issued: int = 0
    ends: int = 0
    sid: str = ""
    ended: tuple[str, ...] = ()
    until: int | None = None


@dataclass(frozen=True, slots=True)
class Lease:
    """The right of one request to deliver the tokens of a rotation.

    ``until`` is its end by the store's clock, ``by`` the latest end for the request, in seconds of
    ``time.monotonic``.
    """

    login_id: str
    device: str
    issued: int
    until: int
    by: float


@dataclass(frozen=True, slots=True)
class Rotation:
    """The outcome of rotating a refresh id.

    ``rotated`` and ``again`` (the same successor: not yet delivered, or within the grace): ``rid``,
    ``device``, ``issued``, ``ends``, ``sid`` and ``authentication`` are for the tokens, and ``lease`` is for
    their delivery.
    ``pending``: another request is about to deliver the successor. ``reused``: the session on ``device`` was
    ended. ``superseded``, ``ended`` and ``unknown`` are refused. ``late``: the store ran it after the caller
    had timed out, and changed nothing. ``stale`` and ``banned`` as for ``Opening``.
    """

    outcome: Literal[
        "rotated", "again", "pending", "late", "stale", "banned", "unknown", "superseded", "reused", "ended"
    ]
    rid: str = ""
    device: str = ""
    issued: int = 0
    ends: int = 0
    sid: str = ""
    authentication: Authentication = NAMED
    until: int | None = None
    lease: Lease | None = field(default=None, compare=False)


def rotation_of(login_id: str, answer: list[Any], by: float) -> Rotation:
    """Return the rotation of which the script ``rotate`` has answered.

    ``by`` is the latest end of a lease of this request, in seconds of ``time.monotonic``.
    """
    outcome, *rest = answer
    match outcome:
        case b"rotated" | b"again":
            issued, ends, sid, device, successor, until, acr, amr, auth_time = rest
            methods = tuple(amr.decode().split())
            return Rotation(
                outcome.decode(),
                successor.decode(),
                device.decode(),
                issued=issued,
                ends=ends,
                sid=sid.decode(),
                authentication=Authentication(acr.decode(), methods, auth_time / 1000),
                lease=Lease(login_id, device.decode(), issued, until, by),
            )
        case b"banned":
            return Rotation("banned", until=ban_end(rest[0]))
        case b"reused":
            return Rotation("reused", device=rest[0].decode())
        case _:
            return Rotation(outcome.decode())


def ban_end(ends: int) -> int | None:
    """Return the end of a ban as scripts answer it; None for a ban without end."""
    return ends if ends > 0 else None


class BanNote(Struct, frozen=True):
    """The reason for a ban; ``since`` in seconds; ``cached`` if it is copied from the database."""

    reason: str = ""
    since: float = 0.0
    cached: bool = False


@dataclass(frozen=True, slots=True)
class Ban:
    """A ban in force; ``until`` is None for a ban without end."""

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
    """A page of the online list: the exact number of matching live sessions, and the next page's cursor."""

    total: int
    rows: tuple[OnlineSession, ...]
    next_cursor: str | None
