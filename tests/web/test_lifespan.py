"""A worker releases everything, also when a part of it fails, or its start."""

from __future__ import annotations

import pytest

from service.app import Lifespan
from tests.support.unstarted import unstarted

pytestmark = pytest.mark.anyio


class Broken(Exception):  # noqa: N818 - of no kind that the service knows
    pass


async def broken() -> None:
    raise Broken


async def test_a_part_that_can_not_end_keeps_no_other_one_open(monkeypatch: pytest.MonkeyPatch) -> None:
    with unstarted() as container:
        ended: list[str] = []

        async def store() -> None:
            ended.append("store")

        async def database() -> None:
            ended.append("database")

        monkeypatch.setattr(container.trail.journal, "finish", broken)
        monkeypatch.setattr(container.trail.exporter, "finish", broken)
        monkeypatch.setattr(container.stores.sessions, "close", store)
        monkeypatch.setattr(container.stores.database, "close", database)
        with pytest.raises(Broken):
            await container.close()
        assert ended == ["store", "database"]


async def test_a_start_that_fails_releases_what_it_has_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    with unstarted() as container:
        closed: list[bool] = []

        async def close() -> None:
            closed.append(True)

        monkeypatch.setattr(container.stores.clock_watch, "look", broken)
        monkeypatch.setattr(container, "close", close)
        with pytest.raises(Broken):
            await Lifespan(container).process_startup({}, {})
        assert closed == [True]
