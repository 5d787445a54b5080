"""Writers who go on while a store fails: what was acknowledged, and when."""

import os
import threading
import time
from collections import Counter
from http import HTTPStatus
from itertools import cycle
from types import TracebackType
from typing import Self

import httpx

from tests.support.waiting import eventually

PATIENCE = 30.0  # seconds
_PAUSE = 0.005  # seconds between two requests of one writer


class Writers:
    """Create roles all the time, ``number`` of them at once, from entering the context until leaving it.

    Each sends its requests to the services at ``urls`` in turn, as a proxy without sticky sessions does. The
    status 0 stands for a request without an answer.
    """

    def __init__(self, *urls: str, password: str, number: int = 4) -> None:
        self.acknowledged: set[str] = set()
        """The codes of the roles whose creation was answered with success."""
        self.statuses: Counter[int] = Counter()
        self._successes: list[float] = []
        self._over = threading.Event()
        self._urls = urls
        self._client = httpx.Client(timeout=PATIENCE, trust_env=False, verify=False)
        given = {"userName": "admin", "password": password}
        answer = self._client.post(f"{urls[0]}/api/auth/login", json=given)
        assert answer.status_code == 200, answer.text
        self._client.headers["Authorization"] = f"Bearer {answer.json()['data']['accessToken']}"
        self._threads = [threading.Thread(target=self._write) for _ in range(number)]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()
        self._client.close()

    def work_for(self, seconds: float) -> None:
        """Let them work."""
        time.sleep(seconds)

    def work_until(self, number: int) -> None:
        """Return when ``number`` of their writes were acknowledged."""
        assert eventually(lambda: len(self.acknowledged) >= number, patience=PATIENCE), self.statuses

    def next_success(self, *, after: float) -> float:
        """Return the moment of the first success after ``after`` (both monotonic); AssertionError if none."""
        while time.monotonic() < after + PATIENCE:
            if later := [moment for moment in list(self._successes) if moment > after]:
                return min(later)
            time.sleep(0.01)
        raise AssertionError(f"no write succeeds any more: {self.statuses}")

    def _write(self) -> None:
        turns = cycle(self._urls)
        while not self._over.is_set():
            code = f"written-{os.urandom(6).hex()}"
            status = self._create(next(turns), code)
            self.statuses[status] += 1
            if status == HTTPStatus.CREATED:
                self.acknowledged.add(code)
                self._successes.append(time.monotonic())
            time.sleep(_PAUSE)

    def _create(self, url: str, code: str) -> int:
        try:
            body = {"roleName": code, "roleCode": code}
            return self._client.post(f"{url}/api/role", json=body).status_code
        except httpx.TransportError:
            return 0
