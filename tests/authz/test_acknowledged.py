from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import cast

import pytest

from service.authz.publishing.acknowledged import Acknowledgements
from service.authz.publishing.watch import PolicyWatch
from service.records.policy_workers import PolicyWorker

pytestmark = pytest.mark.anyio


class Reports:
    """What the workers report: a revision each, and a fault."""

    def __init__(self, *reports: tuple[int, str | None]) -> None:
        self.reports = list(reports)
        self.asked = asyncio.Event()

    async def workers(self) -> list[PolicyWorker]:
        self.asked.set()
        return [
            PolicyWorker(
                worker=f"a:{number}",
                revision=revision,
                fault=fault,
                seen_time=datetime.now(UTC),
                own_digest="x",
            )
            for number, (revision, fault) in enumerate(self.reports)
        ]


def counted(reports: Reports) -> Acknowledgements:
    return Acknowledgements(cast(PolicyWatch, reports))


async def test_workers_that_are_late_are_waited_for() -> None:
    reports = Reports((8, None), (7, None), (9, None))
    waiting = asyncio.create_task(counted(reports).by(8))
    await reports.asked.wait()
    await asyncio.sleep(0)
    assert not waiting.done()

    reports.reports[1] = (8, None)

    assert await waiting == (3, 3)


async def test_workers_that_can_not_load_the_revision_are_not_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("service.authz.publishing.acknowledged.PATIENCE", 3600)
    reports = Reports((8, None), (7, "it can't be loaded"))
    async with asyncio.timeout(60):
        assert await counted(reports).by(8) == (1, 2)


async def test_the_wait_ends_though_a_worker_stays_late(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.authz.publishing.acknowledged.PATIENCE", 0.05)
    assert await counted(Reports((8, None), (7, None))).by(8) == (1, 2)
