"""Four workers under constant load while bindings change a hundred times."""

from __future__ import annotations

import asyncio
import json
from time import monotonic

import psycopg
import pytest

from tests.policy_publishing.conftest import PASSWORD, Workers
from tests.support.raw import Seen, log_in, request, send

pytestmark = pytest.mark.anyio

INFO = "/api/user/info"
GET = f"GET {INFO} HTTP/1.1"
CHANGES = 100
CLIENTS = 6
STALE_AFTER = 1.0
"""Seconds after the answer to a change from which no request may be decided without it."""


def ids(url: str) -> tuple[int, int]:
    """Return the id of the resource that everybody logged in may read, and of a Button that few hold."""
    with psycopg.connect(url) as connection:
        row = connection.execute(
            "SELECT r.id, m.id FROM sys.resource r, sys.menu m"
            " WHERE r.path = %s AND m.auth_mark = 'system:file:share'",
            (INFO,),
        ).fetchone()
    assert row is not None
    return row[0], row[1]


class Trial:
    """Changes and load at once, and all that was answered."""

    def __init__(self, port: int, admin: str, newcomer: str, revision: int) -> None:
        """``revision`` is the one in force; by it the newcomer may read."""
        self.port, self.admin, self.newcomer = port, admin, newcomer
        self.opens = {revision: True}
        self.changed = [(0.0, revision)]
        self.seen: list[Seen] = []
        self.waited: list[tuple[int, Seen]] = []
        self._done = asyncio.Event()

    async def run(self, resource: int, button: int) -> None:
        """Bind and unbind the resource, and send requests that this allows and refuses."""
        load = (self._load() for _ in range(CLIENTS))
        await asyncio.gather(self._change(resource, button), self._load_by_revision(), *load)

    async def _change(self, resource: int, button: int) -> None:
        put = f"PUT /api/resource/{resource}/buttons HTTP/1.1"
        for number in range(CHANGES):
            bound = [button] if number % 2 == 0 else []
            saved = await send(self.port, request(put, self.admin, body={"menuIds": bound}))
            assert saved.status == 200, saved.body
            assert saved.data["policyRevision"] == saved.revision
            self.opens[saved.revision] = not bound
            self.changed.append((monotonic(), saved.revision))
        await asyncio.sleep(STALE_AFTER + 0.5)
        self._done.set()

    async def _load(self) -> None:
        while not self._done.is_set():
            self.seen.append(await send(self.port, request(GET, self.newcomer)))

    async def _load_by_revision(self) -> None:
        while not self._done.is_set():
            wanted = self.changed[-1][1]
            least = f"X-Policy-Min-Revision: {wanted}"
            self.waited.append((wanted, await send(self.port, request(GET, self.newcomer, least))))


async def test_every_request_is_decided_by_one_revision_that_is_never_a_second_old(workers: Workers) -> None:
    port = workers.service.port
    admin, newcomer = await log_in(port, "admin", PASSWORD), await log_in(port, "newcomer", PASSWORD)
    resource, button = ids(workers.database_url)
    put = f"PUT /api/resource/{resource}/buttons HTTP/1.1"
    unbound = await send(port, request(put, admin, body={"menuIds": []}))
    least = f"X-Policy-Min-Revision: {unbound.revision}"
    for _ in range(20):  # so that each worker has been met
        assert (await send(port, request(GET, newcomer, least))).status == 200
    trial = Trial(port, admin, newcomer, unbound.revision)

    await trial.run(resource, button)

    assert len(trial.opens) == CHANGES + 1
    assert len(trial.seen) > 2 * CHANGES
    for one in [*trial.seen, *(answer for _, answer in trial.waited)]:
        assert one.status == (200 if trial.opens[one.revision] else 403), one
        if one.status == 403:
            assert json.loads(one.body)["decisionId"].startswith(f"r{one.revision}-")
    stale = [
        (one, revision)
        for one in trial.seen
        for at, revision in trial.changed
        if one.sent > at + STALE_AFTER and one.revision < revision
    ]
    assert stale == []
    assert [(wanted, one) for wanted, one in trial.waited if one.revision < wanted] == []


async def test_every_worker_tells_its_revision(workers: Workers) -> None:
    port = workers.service.port
    admin = await log_in(port, "admin", PASSWORD)

    policy = (await send(port, request("GET /api/policy HTTP/1.1", admin))).data

    told = [(one["revision"], one["fault"]) for one in policy["workers"]]
    assert told == [(policy["revision"], None)] * 4
