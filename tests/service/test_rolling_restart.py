"""Two instances are restarted one after the other, and no caller of either loses a request."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from service.features.embedded.stores import EmbeddedStores
from tests.service.callers import log_in
from tests.service.conftest import variables_for
from tests.service.node_pair import Pair
from tests.service.pooled_callers import Seen, calling
from tests.support.databases import database
from tests.support.running import PATIENT

CALLERS = 12


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
