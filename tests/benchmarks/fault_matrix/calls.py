"""Calls of the service, timed: what was answered, and whether the caller may count on it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import httpx

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
