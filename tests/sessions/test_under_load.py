"""Nothing is let in after a user was marked, while both workers are under load."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from itertools import cycle

import httpx
import pytest

from tests.sessions.site import Session, Site, log_in

CONNECTIONS = 24
LATE = 500  # requests of each round that are sent after the user was marked
PATH = "/api/user/info"

OperationMetadata = Callable[[], None]


class Load:
    """Requests with one token over many connections, counted by whether they were sent after the mark."""

    def __init__(self, port: int, token: str) -> None:
        self._port = port
        self._request = (
            f"GET {PATH} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n\r\n".encode()
        )
        self._busy = asyncio.Event()
        self._marked = False
        self.early: Counter[int] = Counter()
        self.late: Counter[int] = Counter()

    async def run(self, mark: OperationMetadata) -> None:
        """Keep all connections busy, mark the user amid it, and go on until enough was sent after that."""
        connections = [asyncio.create_task(self._connection()) for _ in range(CONNECTIONS)]
        await self._busy.wait()
        await asyncio.get_running_loop().run_in_executor(None, mark)
        self._marked = True
        await asyncio.gather(*connections)

    async def _connection(self) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        while self.late.total() < LATE:
            counter = self.late if self._marked else self.early
            writer.write(self._request)
            head = await reader.readuntil(b"\r\n\r\n")
            _, _, length = head.lower().partition(b"content-length: ")
            await reader.readexactly(int(length.partition(b"\r\n")[0]))
            counter[int(head.split(b" ", 2)[1])] += 1
            if self.early.total() >= 4 * CONNECTIONS:
                self._busy.set()
        writer.close()
        await writer.wait_closed()


def marks(site: Site, client: httpx.Client, admin: Session, login_id: str) -> list[OperationMetadata]:
    """Return the ways in which a user is marked: behind the service's back, and through it."""

    def refresh() -> None:
        with site.store() as store:
            store.set(f"auth:deny:{login_id}", f"refresh:{time.time() + 0.001:.3f}")

    def ban() -> None:
        with site.store() as store:
            store.set(f"auth:deny:{login_id}", "banned")

    def kick() -> None:
        assert client.delete(f"/api/online/{login_id}", headers=admin.header).status_code == 200

    return [refresh, ban, kick]


async def tried(site: Site, client: httpx.Client, rounds: int) -> None:
    user, admin = site.user(), log_in(client, site.user("super"))
    early: Counter[int] = Counter()
    late: Counter[int] = Counter()
    for mark, _ in zip(cycle(marks(site, client, admin, str(user.id))), range(rounds), strict=False):
        with site.store() as store:
            store.delete(f"auth:deny:{user.id}")
        load = Load(site.service.port, log_in(client, user).access)
        await load.run(mark)
        early += load.early
        late += load.late

    assert late.total() >= rounds * LATE
    assert set(late) <= {401, 403}, late
    assert early[200] >= rounds * CONNECTIONS


async def test_of_fifteen_hundred_requests_sent_after_a_mark_none_is_let_in(
    site: Site, client: httpx.Client
) -> None:
    await tried(site, client, 3)  # each way to mark, once


@pytest.mark.extended
async def test_of_ten_thousand_requests_sent_after_a_mark_none_is_let_in(
    site: Site, client: httpx.Client
) -> None:
    await tried(site, client, 20)
