"""The tasks of the export end together."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from service.audit.export.exporter import Exporter
from service.settings import Export

pytestmark = pytest.mark.anyio


class Delivery:
    """Takes ``turns`` of the event loop to end."""

    def __init__(self, turns: int) -> None:
        self._turns = turns
        self.ended = False

    async def run(self) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            for _ in range(self._turns):
                await asyncio.sleep(0)
            self.ended = True


async def test_the_export_has_ended_when_its_slowest_delivery_has() -> None:
    exporter = Exporter(Export(), cast(Any, None), "one")
    deliveries = [Delivery(0), Delivery(10)]
    exporter.deliveries = cast(Any, deliveries)
    running = asyncio.create_task(exporter.run())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    running.cancel()
    await asyncio.wait([running])
    assert [delivery.ended for delivery in deliveries] == [True, True]
