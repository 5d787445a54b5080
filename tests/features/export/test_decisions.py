"""Events of the decision log get to destinations by way of the database, which is emptied again."""

import asyncio
import json
from typing import Any

import pytest
from sqlalchemy import text

from service.features.export import exporter, store_entries
from service.features.export.decisions import decision_log
from service.features.export.exporter import DecisionOutbox
from service.records.database.transactions import Database
from service.settings import Policy
from tests.features.export.conftest import Place
from tests.features.export.receiver import HttpReceiver
from tests.features.export.test_delivery import drained


def line(number: int) -> bytes:
    event = {"event": "decision", "time": "2026-11-22T02:48:43.956Z", "outcome": "deny", "number": number}
    return json.dumps(event).encode() + b"\n"


async def waiting(place: Place) -> int:
    async with place.database.transaction() as connection:
        count: int = (await connection.execute(text("SELECT count(*) FROM sys.export_decision"))).scalar_one()
        return count


async def begun(place: Place, url: str, **members: Any) -> Any:
    """Return a delivery of decisions, beside which no other one waits for them."""
    await place.execute("DELETE FROM sys.export_destination")
    await place.execute("DELETE FROM sys.export_decision")
    return await place.delivery(place.destination(url, logs=("decisions",), **members))


async def test_events_of_several_workers_arrive_once_and_are_deleted_when_all_destinations_have_them(
    place: Place,
) -> None:
    async with HttpReceiver().listening() as receiver, HttpReceiver().listening() as two:
        first = await begun(place, receiver.url, batch=7)
        second = await place.delivery(place.destination(two.url, logs=("decisions",)))
        workers = [DecisionOutbox(place.database, 1000) for _ in range(3)]
        for number in range(60):
            workers[number % 3].put(line(number))
        await asyncio.gather(*(worker.finish() for worker in workers))
        await drained(first)
        assert await waiting(place) == 60  # the other one lacks them
        await drained(second)
        assert await waiting(place) == 0
    assert receiver.taken == two.taken
    assert len(set(receiver.taken)) == 60
    (entry, *_) = json.loads(receiver.requests[0].body)
    assert (entry["log"], entry["time"]) == ("decisions", "2026-11-22T02:48:43.956Z")
    assert entry["entry"] == json.loads(line(entry["entry"]["number"]))
    assert "chain" not in entry


async def test_events_wait_in_memory_while_the_database_is_away_and_are_not_doubled(place: Place) -> None:
    await begun(place, "http://127.0.0.1:9/hook")
    async with Database("postgresql://nobody@127.0.0.1:1/none", timeout=0.5) as away:
        outbox = DecisionOutbox(away, 1000)
        outbox.put(line(1))
        running = asyncio.create_task(outbox.run())
        await asyncio.sleep(0.1)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    outbox._database = place.database
    outbox.put(line(2))
    await outbox.finish()
    await outbox.finish()
    assert await waiting(place) == 2
    assert outbox.dropped == 0


async def test_beyond_their_limits_events_are_dropped_and_counted(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    await begun(place, "http://127.0.0.1:9/hook")
    outbox = DecisionOutbox(place.database, 10)
    for number in range(8):
        outbox.put(line(number))
    await outbox.finish()
    for number in range(3):
        outbox.put(line(number))
    await outbox.finish()
    assert (await waiting(place), outbox.dropped) == (8, 3)
    monkeypatch.setattr(exporter, "MOST_WAITING", 2)
    for number in range(3):
        outbox.put(line(number))
    assert outbox.dropped == 4


async def test_long_events_are_bounded_by_their_length_and_written_a_few_at_a_time(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    await begun(place, "http://127.0.0.1:9/hook")
    monkeypatch.setattr(exporter, "LONGEST_BATCH", 1)
    monkeypatch.setattr(exporter, "MOST_HELD", 3 * len(line(0)))
    batches: list[int] = []
    add = store_entries.add_decisions

    async def counted(connection: Any, events: Any, most: int) -> bool:
        batches.append(len(events))
        return await add(connection, events, most)

    monkeypatch.setattr(store_entries, "add_decisions", counted)
    outbox = DecisionOutbox(place.database, 1000)
    for written in (4, 8):
        for number in range(6):
            outbox.put(line(number))
        await outbox.finish()
        assert (await waiting(place), outbox.dropped) == (written, written // 2)
    assert batches == [1] * 8


async def test_the_decision_log_is_exported_also_while_it_is_not_written(place: Place) -> None:
    outbox = DecisionOutbox(place.database, 10)
    log = decision_log(Policy(), outbox)
    assert log is not None
    assert log.writer is None
    log.start()
    await log.finish()
    assert list(log.samples()) == []
