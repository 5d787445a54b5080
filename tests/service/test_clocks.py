"""A node whose clock is wrong serves like any other, and says that its clock is wrong."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.service.callers import log_in
from tests.service.conftest import variables_for
from tests.support.inside import inside
from tests.support.running import running_anew
from tests.support.seeded import ADMINISTRATOR, ADMINISTRATOR_PASSWORD
from tests.support.shifted import shift, shifted_variables

ROLE_LIST = "/api/role/list"
WARNING = "this machine's clock differs from the session store's"


@pytest.mark.anyio
@pytest.mark.parametrize("seconds", [-30.0, 30.0])
async def test_a_node_whose_clock_is_half_a_minute_off_logs_in_decides_and_refreshes(
    seeded_database_url: str, redis_url: str, monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    shift(monkeypatch, seconds)
    async with inside(seeded_database_url, redis_url, PORTCULLIS_AUTH__ACCESS_TIMEOUT="20") as service:
        assert (await service.ask("GET", ROLE_LIST)).status == 200


@pytest.mark.anyio
async def test_a_token_expires_at_its_time_on_a_node_whose_clock_is_slow(
    seeded_database_url: str, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shift(monkeypatch, -30.0)
    async with inside(seeded_database_url, redis_url, PORTCULLIS_AUTH__ACCESS_TIMEOUT="1") as service:
        for _ in range(100):  # by the node's own clock it would take half a minute
            answer = await service.ask("GET", ROLE_LIST)
            if answer.status != 200:
                break
            await asyncio.sleep(0.1)
        assert (answer.status, answer.code) == (401, "token_expired")


def test_two_nodes_a_minute_apart_take_one_anothers_tokens_and_the_log_says_whose_clock_is_wrong(
    seeded_database_url: str, redis_url: str, tmp_path: Path
) -> None:
    variables = variables_for(seeded_database_url, redis_url)
    slow, fast = (shifted_variables(tmp_path / str(off), off) for off in (-30, 30))
    with (
        running_anew(tmp_path, "--workers", "1", **variables, **slow) as left,
        running_anew(tmp_path, "--workers", "1", **variables, **fast) as right,
        left.client() as to_left,
        right.client() as to_right,
    ):
        nodes = (to_left, to_right)
        for issuer in nodes:
            header = log_in(issuer, ADMINISTRATOR, ADMINISTRATOR_PASSWORD)
            assert [node.get(ROLE_LIST, headers=header).status_code for node in nodes] == [200, 200]
        for node, offset in ((left, 30), (right, -30)):
            (line,) = [line for line in node.log if line["event"] == WARNING]
            assert line["offset"] == pytest.approx(offset, abs=2)
