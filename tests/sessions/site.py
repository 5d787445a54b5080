"""A running service with its stores at hand, and users who log in to it."""

import base64
import itertools
import json
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

import httpx
import psycopg
import redis

from tests.support.cheap_hashes import cheap_hasher
from tests.support.running import PATIENCE, Running

PASSWORD = "portals, hinges & bolts"
"""The password of every user that these tests make."""

PROXY = "127.0.0.2"
"""The one proxy that these services trust; a caller from here speaks for others."""

_HASH = cheap_hasher().hash(PASSWORD)
_numbers = itertools.count(1)
_T = TypeVar("_T")


@dataclass(frozen=True)
class User:
    """A user of a test's own."""

    id: int
    name: str


@dataclass(frozen=True)
class Session:
    """What a login or a refresh gave."""

    access: str
    refresh: str

    @property
    def header(self) -> dict[str, str]:
        """The header that carries the access token."""
        return {"Authorization": f"Bearer {self.access}"}

    @property
    def claims(self) -> dict[str, Any]:
        """What the access token says."""
        return part_of(self.access, 1)


def part_of(token: str, number: int) -> dict[str, Any]:
    """Return the header (0) or the claims (1) of a token, unchecked."""
    text = token.split(".")[number]
    part: dict[str, Any] = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    return part


class Site:
    """A service that runs, seen from outside, and its stores, to look at."""

    def __init__(self, service: Running, database: psycopg.Connection, redis_url: str) -> None:
        self.service = service
        self.redis_url = redis_url
        self._database = database

    def user(self, *roles: str, id: int | None = None) -> User:  # noqa: A002 - what it is
        """Make a user with these roles, past the API."""
        name = f"user-{next(_numbers)}"
        columns, values = "", ""
        if id is not None:
            columns, values = "id, ", f"{id}, "
        with self._database.transaction():
            row = self._database.execute(
                f"INSERT INTO sys.user ({columns}user_name, user_name_key, nick_name, password_hash)"
                f" OVERRIDING SYSTEM VALUE VALUES ({values}%s, %s, %s, %s) RETURNING id",
                (name, name, name.title(), _HASH),
            ).fetchone()
            assert row is not None
            self._database.execute(
                "INSERT INTO sys.user_role SELECT %s, id FROM sys.role WHERE role_code = ANY(%s)",
                (row[0], list(roles)),
            )
        return User(row[0], name)

    def execute(self, statement: str, *values: object) -> None:
        """Change the database past the API."""
        self._database.execute(statement, values)

    def store(self) -> redis.Redis:
        """Return a client of the session store; the caller closes it."""
        return redis.Redis.from_url(self.redis_url, decode_responses=True)

    def client(self, local_address: str | None = None) -> httpx.Client:
        """Return a client, which may call from another address; the caller closes it."""
        # No certificates: reading them takes longer than most requests of these tests.
        transport = httpx.HTTPTransport(local_address=local_address, verify=False)
        return httpx.Client(base_url=self.service.url, timeout=PATIENCE, trust_env=False, transport=transport)


def credentials(user: User, device: str | None = "web", password: str = PASSWORD) -> dict[str, Any]:
    """Return the body of a login."""
    return {"userName": user.name, "password": password} | ({"device": device} if device else {})


def session_of(answer: httpx.Response) -> Session:
    """Return the session that a login or a refresh gave."""
    assert answer.status_code == 200, answer.text
    data = answer.json()["data"]
    return Session(data["accessToken"], data["refreshToken"])


def log_in(client: httpx.Client, user: User, device: str | None = "web", **headers: str) -> Session:
    """Log in on a device."""
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    return session_of(client.post("/api/auth/login", json=credentials(user, device), headers=sent))


def renew(client: httpx.Client, session: Session) -> httpx.Response:
    """Send the refresh token of ``session``."""
    return client.post("/api/auth/refresh", json={"refreshToken": session.refresh})


def renewed(client: httpx.Client, session: Session) -> httpx.Response:
    """Refresh as a client does: while the service is unavailable, the same token is sent again."""
    until = time.monotonic() + 20
    answer = renew(client, session)
    while answer.status_code == 503 and time.monotonic() < until:
        time.sleep(0.2)
        answer = renew(client, session)
    return answer


def works(client: httpx.Client, session: Session) -> bool:
    """Tell whether the access token is let in; AssertionError when it is refused for another reason."""
    answer = client.get("/api/user/info", headers=session.header)
    assert answer.status_code in (200, 401), answer.text
    if answer.status_code == 401:
        assert answer.json()["code"] == "refresh_required"
    return answer.status_code == 200


def devices(client: httpx.Client, session: Session) -> list[str]:
    """Return the devices on which the user of ``session`` is logged in, the latest first."""
    answer = client.get("/api/auth/sessions", headers=session.header)
    assert answer.status_code == 200, answer.text
    return [entry["device"] for entry in answer.json()["data"]]


def code_of(answer: httpx.Response) -> tuple[int, str]:
    """Return the status and the code of a refusal."""
    return answer.status_code, answer.json().get("code", "")


def at_once(site: Site, count: int, work: Callable[[httpx.Client, int], _T]) -> Sequence[_T]:
    """Do ``work`` ``count`` times side by side, each over a connection of its own, numbered from 0."""

    def worked(number: int) -> _T:
        with site.client() as client:
            return work(client, number)

    with ThreadPoolExecutor(count) as threads:
        return list(threads.map(worked, range(count)))
