"""Batches that come twice, that two workers write at once, and that hold what the database refuses."""

import asyncio
import json
from collections import Counter
from typing import Any

import pytest
from redis.asyncio import Redis
from sqlalchemy import select

from service.audit.collector import Collector, Counts
from service.audit.entries import encode
from service.audit.journal import Sender
from service.audit.key_chain import Chain
from service.audit.redaction import MOST_VALUES, kept_changes
from service.audit.stream_consumer import Writer
from service.errors import Unavailable
from service.features.audit_proof.days import Audit
from service.features.audit_proof.writer import Writing
from service.kernel.coded_sentences import Sentence
from service.kernel.origin import MOST_TARGETS, ChangeRecord, values_change
from service.keyspace import Done, LogCounts, LogQueue
from service.records.database.transactions import Database
from service.records.logs.events import LoginEvent
from service.records.schema.logs import log_set_aside
from tests.audit.conftest import Place, operation

GOOD = [encode(operation(number)) for number in range(20)]


def poison(**fields: Any) -> bytes:
    """Return an entry with values that the encoder would have mended or could not know."""
    entry = json.loads(encode(operation(99))) | fields
    return json.dumps(entry).encode()


async def is_whole(place: Place) -> bool:
    audit = Audit(database=place.database, keys=[Chain()])
    return not [fault async for day in audit.days() for fault in day.faults]


async def write(place: Place, *lines: bytes) -> set[int]:
    return await Writing(place.database, Chain()).write("operation_log", lines)


async def test_entries_that_come_again_are_not_written_again(place: Place) -> None:
    await write(place, *GOOD[:10])
    assert await write(place, *GOOD[5:15], *GOOD[5:10]) == set()
    assert await write(place, *GOOD[:15]) == set()
    assert await place.actions() == [f"action {number}" for number in range(15)]
    assert await is_whole(place)


async def test_an_entry_about_a_thousand_records_is_written_whole_and_chained(place: Place) -> None:
    record = ChangeRecord()
    record.concern(f"user:{'ü' * 60}{number:04}" for number in range(MOST_TARGETS + 500))
    removed = [f"code:{number}" for number in range(500)]
    for target in record.targets:
        record.changes += values_change(target, "roles", removed, ["\0"])
    event = operation(
        targets=record.targets, changes=kept_changes(record.changes), change_count=len(record.changes)
    )
    assert await write(place, GOOD[1], encode(event), GOOD[2]) == set()

    row = (await place.rows())[1]
    assert (row.change_count, len(row.targets), row.targets[-1][-4:]) == (1000, MOST_TARGETS, "0999")
    assert 10 < len(row.changes) < 1000
    assert (len(row.changes[0]["before"]), row.changes[0]["removed"]) == (MOST_VALUES, 500)
    assert row.changes[0]["after"] == ["\ufffd"]
    assert await is_whole(place)


async def test_many_writers_at_once_make_one_chain(place: Place) -> None:
    async with Database(place.database_url, pool_size=5) as database:
        writing = Writing(database, Chain())
        parts = [[encode(operation(100 * part + number)) for number in range(40)] for part in range(10)]
        await asyncio.gather(*(writing.write("operation_log", part) for part in (*parts, *parts[:5])))
    rows = await place.rows()
    assert Counter(row.action for row in rows) == Counter(
        f"action {100 * part + number}" for part in range(10) for number in range(40)
    )
    assert [row.chain_number for row in rows] == list(range(1, 401))
    assert await is_whole(place)


@pytest.mark.parametrize(
    ("bad", "column", "mended"),
    [
        ({"client_ip": "not an address"}, "client_ip", None),
        ({"client_ip": "fe80::1%eth0"}, "client_ip", "fe80::1"),
        ({"user_agent": "a\0b"}, "user_agent", "a\ufffdb"),
        ({"params": {"k": "\0"}}, "params", {"cut": "the database rejects it"}),
        ({"params": [1e308, "x"], "request_id": "\0"}, "request_id", "\ufffd"),
    ],
)
async def test_an_entry_that_is_refused_is_mended_and_holds_up_no_other(
    place: Place, bad: dict[str, Any], column: str, mended: object
) -> None:
    assert await write(place, *GOOD[:7], poison(**bad), *GOOD[7:]) == set()
    rows = await place.rows()
    assert [row.action for row in rows if row.action != "action 99"] == [f"action {n}" for n in range(20)]
    (stored,) = [getattr(row, column) for row in rows if row.action == "action 99"]
    assert (str(stored) if column == "client_ip" and stored else stored) == mended
    assert await is_whole(place)


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (poison(status=42), "23514"),
        (poison(elapsed_ms=-1), "23514"),
        (poison(user_id=2**63), "22003"),
        (poison(elapsed_ms="1"), "Expected `float`"),
        (poison(event_id="no id"), "Invalid UUID"),
        (b'{"module":', "truncated"),
        (b"\xff\0", "malformed"),
        (poison().replace(b'{"status": "disabled"}', b"[" * 99_999 + b"]" * 99_999), "nested too deeply"),
    ],
)
async def test_an_entry_that_can_not_be_mended_is_set_aside_with_the_reason(
    place: Place, bad: bytes, reason: str
) -> None:
    for _ in range(2):
        assert await write(place, *GOOD[:7], bad, *GOOD[7:]) == {7}
    assert await place.actions() == [f"action {number}" for number in range(20)]
    async with place.database.transaction() as connection:
        (row,) = await connection.execute(select(log_set_aside))
    assert reason in row.reason
    assert row.entry == bad.decode("utf-8", "replace").replace("\0", "\ufffd")
    assert await is_whole(place)


async def test_a_batch_of_nothing_but_poison_is_set_aside_whole(place: Place) -> None:
    assert await write(place, *(poison(status=number) for number in range(5))) == {0, 1, 2, 3, 4}
    assert await place.actions() == []


async def add(place: Place, number: int, *lines: bytes, sender: str = "sender") -> bool:
    content = b'{"operations":[%b],"logins":[]}' % b",".join(lines)
    return await place.store.log.add(sender, number, content, count=len(lines), dropped=0, most_bytes=2**20)


def writer(place: Place, name: str) -> tuple[Writer, Counts]:
    counts = Counts()
    return Writer(place.store.log, Writing(place.database, Chain()), name, counts, claim_after=0.05), counts


async def test_a_batch_whose_writer_died_after_the_commit_is_claimed_and_counted_once(place: Place) -> None:
    await add(place, 1, *GOOD[:5], poison(status=42))
    (batch,) = await place.store.log.take("dead", most=10)
    dead, _ = writer(place, "dead")
    await dead.write([batch])  # committed; then it dies, and the stream is not told
    heir, counts = writer(place, "heir")
    await asyncio.sleep(0.1)
    await heir.drain()
    assert await place.actions() == [f"action {number}" for number in range(5)]
    assert (counts.written, counts.set_aside) == (5, 1)
    assert await place.store.log.counts() == LogCounts(
        accepted=6, written=5, dropped=0, set_aside=1, under_way=0
    )


async def test_a_writer_finishes_what_it_could_not_write_before_it_takes_more(place: Place) -> None:
    await add(place, 1, *GOOD[:5])
    nowhere = Database("postgresql://portcullis@127.0.0.1:1/nowhere")
    failing = Writer(place.store.log, Writing(nowhere, Chain()), "one", Counts(), claim_after=60)
    with pytest.raises(Exception, match="is unavailable"):
        await failing.step()
    await add(place, 2, *GOOD[5:8])
    failing._writing = Writing(place.database, Chain())
    assert [await failing.step() for _ in range(4)] == [1, 0, 1, 0]
    assert await place.actions() == [f"action {number}" for number in range(8)]


async def test_what_was_removed_though_the_answer_was_lost_is_counted_once(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    await add(place, 1, *GOOD[:5])
    consumer, counts = writer(place, "one")
    stream = place.store.log
    done = stream.done

    async def answer_lost(*given: Any) -> bool:
        await done(*given)
        raise Unavailable(Sentence("the answer is lost"))

    monkeypatch.setattr(stream, "done", answer_lost)
    with pytest.raises(Unavailable):
        await consumer.step()
    monkeypatch.setattr(stream, "done", done)
    assert counts.written == 0
    await add(place, 2, *GOOD[5:8])
    await consumer.drain()
    assert (counts.written, counts.set_aside) == (8, 0)
    assert (await stream.counts()).written == 8
    assert await place.actions() == [f"action {number}" for number in range(8)]


async def test_the_stream_takes_a_batch_once_and_no_more_than_it_may_hold(place: Place) -> None:
    big = encode(operation(1, params={"x": "y" * 15_000}))
    assert await add(place, 1, big)
    assert await add(place, 1, big)  # its answer was lost
    assert (await place.store.log.counts()).accepted == 1
    for number in range(2, 200):
        if not await add(place, number, big):
            break
    assert 60 < number < 70
    assert not await add(place, number, big)
    counts = await place.store.log.counts()
    assert (counts.accepted, counts.under_way) == (number - 1, number - 1)
    consumer, _ = writer(place, "one")
    await consumer.drain()
    assert await add(place, number, big)
    assert len(await place.actions()) == 1  # it is always the same event


async def test_what_is_dropped_while_the_answer_about_a_batch_is_missing_is_counted_with_the_next(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = place.store.log
    really_add, losing = stream.add, iter([True])

    async def add(*batch: Any, **counts: Any) -> bool:
        taken = await really_add(*batch, **counts)
        if next(losing, False):
            raise Unavailable(Sentence("its answer was lost"))
        return taken

    monkeypatch.setattr(stream, "add", add)
    collector = Collector(3 * len(GOOD[0]))
    sender = Sender(collector, stream, "one", 2**20)
    for number in range(3):
        collector.operation(operation(number))
    assert not await sender.send_all()
    collector.operation(operation(3))
    assert await sender.send_all()
    collector.operation(operation(4))
    assert await sender.send_all()
    assert await stream.counts() == LogCounts(accepted=5, written=0, dropped=1, set_aside=0, under_way=4)


async def test_the_age_of_what_waits_in_the_stream_is_that_of_its_oldest_batch(place: Place) -> None:
    stream = place.store.log
    assert await stream.queue() == LogQueue(0, 0, 0.0)
    for number in (1, 2):
        await stream.add("one", number, b"{}", count=3, dropped=0, most_bytes=100)
        await asyncio.sleep(0.02)
    waiting = await stream.queue()
    assert (waiting.entries, waiting.size) == (6, 4)
    assert waiting.oldest >= 0.03
    (first, second) = await stream.take("one", most=2)
    await stream.done([Done(first, 3, 0)])
    assert (await stream.queue()).oldest >= 0.01
    await stream.done([Done(second, 3, 0)])
    assert await stream.queue() == LogQueue(0, 0, 0.0)


async def test_a_stream_that_somebody_removed_is_counted_as_dropped_and_made_again(
    place: Place, redis_url: str
) -> None:
    await add(place, 1, *GOOD[:5])
    async with Redis.from_url(redis_url) as raw:
        await raw.delete("auth:log:stream")
    consumer, _ = writer(place, "one")
    await consumer.drain()
    await add(place, 2, *GOOD[5:8])
    await consumer.drain()
    assert await place.store.log.counts() == LogCounts(
        accepted=8, written=3, dropped=5, set_aside=0, under_way=0
    )


async def test_entries_of_both_logs_are_written_as_they_were_made(place: Place) -> None:
    changed = operation(7, params={"status": "disabled", "n": [1, 2.5, None, "ä\r\n\x1b[31m\"'"]})
    passed = LoginEvent(event="login", outcome="success", user_id=1, login_ip="2001:db8::1")
    async with place.journal() as journal:
        await journal.start()
        journal.collector.operation(changed)
        journal.collector.login(passed)
        await journal.finish()
        assert await journal.totals() == LogCounts(accepted=2, written=2, dropped=0, set_aside=0, under_way=0)
    (row,), (login,) = await place.rows(), await place.logins()
    for name in changed.__struct_fields__:
        stored = getattr(row, name)
        assert (str(stored) if name == "client_ip" else stored) == getattr(changed, name), name
    assert (login.event_id, login.create_time, str(login.login_ip)) == (
        passed.event_id,
        passed.create_time,
        "2001:db8::1",
    )
