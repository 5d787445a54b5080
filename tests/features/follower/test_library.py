"""The library: a decision point in the process of a program, that follows as long as it is used."""

import asyncio
from collections.abc import Iterable
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from service.features.decisions.questions import Asked
from service.features.follower import following
from service.features.follower.following import Follower
from service.features.follower.point import Evaluated
from service.features.follower.settings import PdpSettingsError
from service.pdp import decision_point, point_of
from tests.features.follower.conftest import House, HubTransport, Rewriting
from tests.support.waiting import eventually_here


async def test_a_program_asks_a_decision_point_of_its_own(house: House, tmp_path: Path) -> None:
    role = await house.role("library", house.buttons["orders:order:read"])
    user = await house.user("paula", role)
    settings = house.settings(house.key, file=tmp_path / "policy")
    async with decision_point(settings, transport=house.transport) as point:
        assert point.may("paula", "GET", "/orders/7")
        assert not point.may("paula", "use", "orders:order:write")
        await house.data("PATCH", f"/api/user/{user}", {"roleIds": []})
        async with asyncio.timeout(point.lease.bound):
            while point.may("paula", "GET", "/orders/7"):  # noqa: ASYNC110 - there is no event for it
                await asyncio.sleep(0.005)
        assert not point.is_stale
    assert await asyncio.to_thread((tmp_path / "policy").exists)


async def test_a_hub_that_is_away_is_not_waited_for_for_ever(house: House) -> None:
    settings = house.settings("pck_1_wrong_key")
    async with decision_point(settings, first=0.2, transport=house.transport) as point:
        assert point.is_stale
        assert not point.may("admin", "GET", "/orders/7")


async def test_a_program_remembers_short_questions_within_a_bounded_memory(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    role = await house.role("library-memory", house.buttons["orders:order:read"])
    await house.user("petra", role)
    async with house.follower(bound=30.0) as follower:
        await follower.renew()
        point = follower.point
        asked: list[Asked] = []
        find = point.find

        def find_and_count(question: Asked) -> Evaluated:
            asked.append(question)
            return find(question)

        monkeypatch.setattr(point, "find", find_and_count)

        def newly_asked(user: str, action: str, path: str) -> int:
            """How often a question is asked anew, of two times."""
            asked.clear()
            assert point.may(user, action, path) is point.may(user, action, path)
            return len(asked)

        assert newly_asked("petra", "GET", "/orders/7") == 1
        assert newly_asked("petra", "GET", "/orders/" + "7" * 2000) == 2
        assert newly_asked("petra", "G" * 2000, "/orders/7") == 2
        assert newly_asked("p" * 2000, "GET", "/orders/7") == 2
        assert list(point._known) == ["petra"]
        monkeypatch.setattr("service.features.follower.point._MOST_KNOWN", 20_000)
        for number in range(500):
            newly_asked("petra", "GET", f"/orders/{number}")
        assert sum(map(len, point._known.values())) < 20_000 / 200


class Signing(Rewriting):
    """Carries renewals to a hub whose answers name another algorithm, as long as there is one."""

    def __init__(self, transport: HubTransport, algorithm: str) -> None:
        super().__init__(transport)
        self.algorithm: str | None = algorithm

    def rewrite(self, content: Any) -> None:
        if self.algorithm is not None:
            content["tokens"]["algorithm"] = self.algorithm


@pytest.mark.parametrize("algorithm", ["HS256", "unknown"])
async def test_a_hub_that_can_not_be_followed_is_asked_again_for_as_long_as_the_program_runs(
    house: House, algorithm: str
) -> None:
    await house.user(f"ursula-{algorithm.lower()}")
    signing = Signing(house.transport, algorithm)
    async with decision_point(house.settings(house.key), first=0.0, transport=signing) as point:
        assert await eventually_here(lambda: signing.renewals > 3)
        assert point.is_stale
        signing.algorithm = None
        assert await eventually_here(lambda: not point.is_stale)


async def test_rules_that_can_not_be_used_give_no_lease_and_are_the_fault(house: House) -> None:
    signing = Signing(house.transport, "unknown")
    settings = house.settings(house.key)
    async with Follower(settings, point_of(settings), signing) as follower:
        signing.algorithm = None
        await follower.renew()
        signing.algorithm = "unknown"
        for _ in range(2):
            with pytest.raises(KeyError):
                await follower.renew(wait=False)
            assert follower.point.is_stale
        running = asyncio.create_task(follower.run())
        assert await eventually_here(lambda: follower.fault == "KeyError: 'unknown'")
        signing.algorithm = "HS256"
        assert await eventually_here(lambda: "HS256" in (follower.fault or ""))
        assert not running.done()
        running.cancel()


async def test_a_process_does_not_begin_to_follow_a_hub_that_signs_by_a_shared_key(house: House) -> None:
    settings = house.settings(house.key)
    async with Follower(settings, point_of(settings), Signing(house.transport, "HS256")) as follower:
        with pytest.raises(PdpSettingsError, match="HS256"):
            await follower.run()


async def test_a_file_that_is_being_written_is_waited_for_at_the_end(
    house: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go_on, order = asyncio.Event(), Event(), []
    loop, write = asyncio.get_running_loop(), following._write

    def slowly(path: Path, content: Iterable[bytes], seal_key: bytes) -> None:
        order.append("begun")
        loop.call_soon_threadsafe(begun.set)
        assert go_on.wait(10)
        write(path, content, seal_key)
        order.append("done")

    monkeypatch.setattr(following, "_write", slowly)
    async with house.follower(file=tmp_path / "policy") as follower:
        running = asyncio.create_task(follower.run())
        await asyncio.wait_for(begun.wait(), 10)
        running.cancel()
        loop.call_later(0.1, go_on.set)
        with pytest.raises(asyncio.CancelledError):
            await running
        follower.keep_now()
    assert order == ["begun", "done"] * 2
