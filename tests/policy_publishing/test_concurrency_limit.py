"""Questions about the whole policy hold up neither each other's connections nor anything else."""

import asyncio
import threading
from typing import Any

import pytest

from service.authz.engine.concurrency import ConcurrencyLimit
from service.errors import Unavailable
from service.features.explain.access import who
from service.kernel.codes import HeldCodes
from service.laboratory.proof.batch_decider import BatchDecider
from tests.support.inside import Inside

MANY = 40
REPORT = {"resourceName": "Report", "resourceCode": "report", "method": "GET", "path": "/api/user/7"}


async def test_many_questions_at_once_hold_up_neither_reads_nor_changes_of_the_policy(
    service: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    released = threading.Event()

    def slow(*args: Any, **named: Any) -> Any:
        released.wait(30)
        return who(*args, **named)

    monkeypatch.setattr("service.features.explain.api_who_may.who", slow)
    asked = "/api/policy/who?method=GET&path=/api/role/list"
    asking = [asyncio.create_task(service.ask("GET", asked)) for _ in range(MANY)]
    try:
        await asyncio.sleep(0.3)
        assert (await service.ask("GET", "/api/role/list")).status == 200
        assert (await service.ask("POST", "/api/resource", REPORT)).status == 201
    finally:
        released.set()
        answers = await asyncio.gather(*asking)
    assert {answer.status for answer in answers} == {200}


async def test_a_question_that_waits_too_long_is_refused_and_the_next_one_is_answered() -> None:
    concurrency = ConcurrencyLimit(patience=0.01)
    async with concurrency.turn():
        with pytest.raises(Unavailable, match="policy questions"):
            async with concurrency.turn():
                pass
    async with concurrency.turn():
        assert await concurrency.computed(sorted, [2, 1]) == [1, 2]


async def test_the_work_runs_in_a_thread_of_its_own() -> None:
    concurrency = ConcurrencyLimit()
    names = {await concurrency.computed(lambda: threading.current_thread().name) for _ in range(3)}
    assert len(names) == 1
    assert names.pop().startswith("review")


async def test_what_would_open_a_denied_request_is_looked_for_beside_the_event_loop(
    shared: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[threading.Thread] = []

    class Watched(BatchDecider):
        def opens(self, layer: str, name: str, held: HeldCodes | None) -> bool:
            seen.append(threading.current_thread())
            return super().opens(layer, name, held)

    monkeypatch.setattr("service.features.explain.openings.BatchDecider", Watched)
    question = {"method": "DELETE", "path": "/api/user/1", "permissions": []}
    explained = await shared.data("POST", "/api/policy/explain", question)

    assert "super" in explained["endpoint"]["wouldOpen"]["roles"]
    assert seen
    assert threading.main_thread() not in seen
