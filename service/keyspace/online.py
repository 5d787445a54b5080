"""The online list: paged from the indexes, never by scanning keys."""

import base64
import binascii
from typing import Any

import msgspec

from service.keyspace.scripts import Scripts
from service.keyspace.values import DeviceSession, OnlinePage, OnlineSession

MOST_ROWS = 2**53  # above this Lua's numbers are not exact
_session = msgspec.json.Decoder(DeviceSession)


class Online:
    """All live device sessions, latest expiry first: the most recent login or refresh."""

    def __init__(self, scripts: Scripts) -> None:
        self._scripts = scripts

    async def count(self) -> int:
        """Return how many device sessions are live, of all users."""
        return int(await self._scripts.run("count_online"))

    async def page(
        self,
        *,
        number: int = 1,
        size: int = 20,
        cursor: str | None = None,
        user_name: str = "",
        login_ip: str = "",
        device: str = "",
    ) -> OnlinePage:
        """Return page ``number`` (from 1), or the page after ``cursor``.

        The filters are exact; an empty one matches everything. ValueError for a cursor from anywhere else.
        """
        indexes = _indexes(user_name, login_ip, device)
        if cursor is None:
            position: tuple[str | int, ...] = (min((number - 1) * size, MOST_ROWS), size, "", "")
        else:
            position = (-1, size, *_read_cursor(cursor))
        total, *entries = await self._scripts.run("online", *position, *indexes)
        rows = tuple(_row(member, text) for member, _, text in entries)
        return OnlinePage(total, rows, _cursor(entries[-1]) if len(entries) == size else None)


def _indexes(user_name: str, login_ip: str, device: str) -> list[str]:
    filters = (("user", user_name), ("ip", login_ip), ("device", device))
    return [f"auth:online:{kind}:{value}" for kind, value in filters if value] or ["auth:online"]


def _row(member: bytes, text: bytes) -> OnlineSession:
    login_id, _, device = member.decode().partition(":")
    return OnlineSession(login_id, device, _session.decode(text))


def _cursor(last: list[Any]) -> str:
    member, ends, _ = last
    return base64.urlsafe_b64encode(ends + b" " + member).decode()


def _read_cursor(cursor: str) -> tuple[str, str]:
    try:
        ends, _, member = base64.urlsafe_b64decode(cursor).decode("ascii").partition(" ")
    except (binascii.Error, ValueError):
        raise ValueError("the cursor was not made here") from None
    if not (ends.isdigit() and member):
        raise ValueError("the cursor was not made here")
    return ends, member
