"""Who calls the service in a fault matrix, timed: what was answered, and whether it may be counted on."""

import time
from dataclasses import dataclass
from typing import Any

import httpx
import psycopg

from tests.support.members import USER
from tests.support.seeded import ADMINISTRATOR, ADMINISTRATOR_PASSWORD

LONGEST_WAIT = 45.0  # seconds; what takes longer counts as no answer
NO_ANSWER = 0
"""The status of a call that was cut off, refused or not answered."""


@dataclass(frozen=True)
class Reply:
    """An answer: when it was asked for (``time.monotonic``), the seconds it took, status and body."""

    asked: float
    seconds: float
    status: int
    body: bytes = b""
    json: Any = None

    @property
    def is_success(self) -> bool:
        """Tell whether the service says that it was done."""
        return 200 <= self.status < 300


class Caller:
    """One client with connections of its own; not for two threads at once."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._client = self._opened()

    def _opened(self) -> httpx.Client:
        # No certificates: reading them takes 20 milliseconds, longer than most requests.
        return httpx.Client(base_url=self._url, timeout=LONGEST_WAIT, trust_env=False, verify=False)

    def ask(
        self,
        method: str,
        target: str,
        body: Any = None,
        *,
        token: str | None = None,
        file: bytes | None = None,
    ) -> Reply:
        """Send one request, with ``body`` as JSON or ``file`` as an upload, and read the whole answer."""
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        files = None if file is None else {"file": ("fault.png", file, "image/png")}
        asked = time.monotonic()
        try:
            answer = self._client.request(method, target, json=body, headers=headers, files=files)
        except httpx.TransportError:
            return Reply(asked, time.monotonic() - asked, NO_ANSWER)
        spent = time.monotonic() - asked
        is_json = answer.headers.get("content-type", "").endswith("json")
        return Reply(asked, spent, answer.status_code, answer.content, answer.json() if is_json else None)

    def log_in(self, user_name: str = ADMINISTRATOR, device: str = "web") -> Reply:
        """Ask for a session; every user has the password of the administrator."""
        credentials = {"userName": user_name, "password": ADMINISTRATOR_PASSWORD, "device": device}
        return self.ask("POST", "/api/auth/login", credentials)

    def refresh(self, token: str) -> Reply:
        """Spend a refresh token."""
        return self.ask("POST", "/api/auth/refresh", {"refreshToken": token})

    def reconnect(self) -> None:
        """Close the connections; the next call opens a new one."""
        self.close()
        self._client = self._opened()

    def close(self) -> None:
        """Close the connections."""
        self._client.close()


RENEWERS = tuple(f"renewer{number}" for number in range(6))
"""Those who refresh: several, so that a fault meets refreshes that are under way."""

NAMES = ("opener", *RENEWERS, "powerless", "kicked", "banned", "replayer")


@dataclass(frozen=True)
class Intruders:
    """Credentials that open nothing, and why.

    ``powerless`` is a token without rights. ``kicked`` and ``banned`` are tokens that were good until their
    users were kicked and banned; ``banned_refresh`` belongs to the latter. ``spent`` was used, and the token
    that came of it as well.
    """

    powerless: str
    kicked: str
    banned: str
    banned_refresh: str
    spent: str


def make_people(database_url: str) -> None:
    """Write the users, past the service; none has a role."""
    with psycopg.connect(database_url) as connection:
        for name in NAMES:
            connection.execute(USER.encode(), (name, name, name))


def make_intruders(caller: Caller, database_url: str) -> Intruders:
    """Log in, and take away again what each intruder was given."""
    with psycopg.connect(database_url) as connection:
        rows = connection.execute('SELECT user_name, id FROM sys."user"').fetchall()
    ids: dict[str, int] = dict(rows)
    administrator = _token(caller.log_in())
    caller.ask("DELETE", f"/api/online/{ids['banned']}/ban", token=administrator)
    powerless, kicked, banned = (caller.log_in(name) for name in ("powerless", "kicked", "banned"))
    for reply in (powerless, kicked, banned):
        assert caller.ask("GET", "/api/user/info", token=_token(reply)).status == 200
    first = caller.log_in("replayer")
    second = caller.refresh(first.json["data"]["refreshToken"])
    assert caller.ask("GET", "/api/user/info", token=_token(second)).status == 200
    assert caller.ask("DELETE", f"/api/online/{ids['kicked']}", token=administrator).status == 200
    ban = caller.ask("POST", f"/api/online/{ids['banned']}/ban", {"reason": "fault"}, token=administrator)
    assert ban.status == 200, ban.body
    return Intruders(
        _token(powerless),
        _token(kicked),
        _token(banned),
        banned.json["data"]["refreshToken"],
        first.json["data"]["refreshToken"],
    )


def _token(reply: Reply) -> str:
    assert reply.status == 200, reply.body
    token: str = reply.json["data"]["accessToken"]
    return token
