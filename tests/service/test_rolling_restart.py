"""Two instances are restarted one after the other, and no caller of either loses a request."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from service.embedded import EmbeddedStores
from tests.service.callers import log_in
from tests.service.conftest import variables_for
from tests.service.pooled_callers import Seen, calling
from tests.service.wire import exchange
from tests.support.databases import database
from tests.support.ports import free_port
from tests.support.running import PATIENT, Running
from tests.support.waiting import eventually

CALLERS = 12
READY = b"GET /health/ready HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"

pytestmark = pytest.mark.anyio


class Pair:
    """Two instances on the same stores, each at a port of its own that it keeps."""

    def __init__(self, folder: Path, variables: dict[str, str]) -> None:
        self._folder = folder
        self._variables = variables
        self.ports = [free_port(), free_port()]
        self.instances = [self._started(port) for port in self.ports]

    def restart(self, number: int) -> None:
        """Stop one and start it again; return when it is ready."""
        assert self.instances[number].stop() == 0
        self.instances[number] = self._started(self.ports[number])

    def stop(self) -> None:
        for instance in self.instances:
            instance.stop()

    def _started(self, port: int) -> Running:
        service = Running(self._folder, "--port", str(port), "--workers", "1", **self._variables)
        service.wait()
        assert eventually(lambda: exchange(port, READY)[0].status == 200)
        return service


@pytest.fixture
def pair(stores: EmbeddedStores, seeded_template: str, redis_url: str, tmp_path: Path) -> Iterator[Pair]:
    with database(stores, seeded_template) as url:
        variables = variables_for(url, redis_url) | PATIENT
        variables["PORTCULLIS_SERVER__STOP_GRACE"] = "0.5"
        both = Pair(tmp_path, variables)
        try:
            yield both
        finally:
            both.stop()


async def roll(pair: Pair, times: int) -> Seen:
    """Restart both, ``times`` over, under load; return what the callers saw."""
    with pair.instances[0].client() as client:
        (token,) = [f"{name}: {value}".encode() for name, value in log_in(client).items()]
    seen = Seen()
    async with calling(CALLERS, lambda: pair.ports, token, seen):
        for _ in range(times):
            for number in range(2):
                await asyncio.sleep(0.3)
                await asyncio.to_thread(pair.restart, number)
    return seen


def check(seen: Seen) -> None:
    print(f"\n{seen}")  # noqa: T201 - the figures of a run that is made for them
    assert seen.cut == []
    assert set(seen.statuses) == {200}
    assert seen.statuses[200] > 200
    assert seen.announced + seen.idle_closed + seen.refused > 0  # the restarts were noticed


async def test_a_rolling_restart_cuts_no_request(pair: Pair) -> None:
    check(await roll(pair, 1))


@pytest.mark.extended
async def test_twenty_rolling_restarts_cut_no_request(pair: Pair) -> None:
    check(await roll(pair, 20))
