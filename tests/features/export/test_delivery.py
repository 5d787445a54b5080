"""Every entry arrives, in the order of its log, whatever happens to the receiver or the worker."""

import asyncio
import base64
import json

import pytest
from sqlalchemy import text
from structlog.testing import capture_logs

from service.features.export import delivery as module
from service.features.export import store_entries
from service.features.export.delivery import LONGEST_ASKED, Delivery, backoff
from tests.audit.conftest import until
from tests.features.export import sender
from tests.features.export.conftest import Place
from tests.features.export.receiver import HttpReceiver, answering, poisoned
from tests.features.export.test_receivers import SyslogServer, messages_of, tcp
from tests.support.forks import forks


async def drained(delivery: Delivery) -> None:
    """Send until nothing is left."""
    while await delivery.step() == 0.0:
        pass


async def test_both_logs_arrive_in_order_and_each_entry_once(place: Place) -> None:
    async with HttpReceiver().listening() as receiver:
        to = await place.delivery(place.destination(receiver.url, batch=2))
        written = await place.write("a", "b", "c", "d", "e")
        login = await place.write_login()
        await drained(to)
        await drained(to)
    assert receiver.taken[:2] == written[:2]
    assert [entry_id for entry_id in receiver.taken if entry_id != login] == written
    assert sorted(receiver.taken) == sorted([*written, login])
    assert (await place.state(to)).sent == 6
    assert to.counts == {"sent": 6, "dead": 0}


async def test_what_was_written_before_is_sent_if_the_destination_starts_at_the_beginning(
    place: Place,
) -> None:
    before = await place.write("before")
    async with HttpReceiver().listening() as receiver:
        to = await place.delivery(place.destination(receiver.url, start="beginning"))
        other = await place.delivery(place.destination(receiver.url))
        await drained(to)
        assert before[0] in receiver.taken
        receiver.taken.clear()
        await drained(other)
    assert receiver.taken == []


async def test_entries_of_writers_that_commit_at_the_same_time_are_neither_skipped_nor_repeated(
    place: Place,
) -> None:
    async with HttpReceiver().listening() as receiver:
        to = await place.delivery(place.destination(receiver.url, batch=7))
        written: list[str] = []

        async def write(writer: int) -> None:
            for number in range(8):
                written.extend(await place.write(f"{writer}.{number}", f"{writer}.{number} too"))

        writing = asyncio.gather(*map(write, range(5)))
        while not writing.done():
            await to.step()
            await asyncio.sleep(0)
        await writing
        await drained(to)
    assert len(receiver.taken) == len(set(receiver.taken)) == 80
    assert set(receiver.taken) == set(written)


async def test_a_receiver_that_was_away_gets_everything_when_it_is_back(place: Place) -> None:
    receiver = HttpReceiver()
    async with receiver.listening():
        to = await place.delivery(place.destination(receiver.url))
        first = await place.write("before")
        await drained(to)
    with capture_logs() as logs:
        later = await place.write("meanwhile", "and again")
        assert await to.step() > 0
        state = await place.state(to)
        assert (state.failures, state.waiting_time is None) == (1, False)
        assert "can't be reached" in (state.reason or "")
        await place.due(to, 60)
        assert await to.step() > 0  # not due yet: it is not asked
        assert (await place.state(to)).failures == 1
        async with receiver.listening():
            await place.due(to)
            await drained(to)
    assert receiver.taken == first + later
    state = await place.state(to)
    assert (state.failures, state.reason, state.waiting_time) == (0, None, None)
    assert [entry["event"] for entry in logs] == ["an export fails", "an export works again"]


async def test_a_batch_that_was_answered_500_comes_again_with_the_same_ids(place: Place) -> None:
    async with HttpReceiver(answer=answering(500)).listening() as receiver:
        to = await place.delivery(place.destination(receiver.url))
        written = await place.write("a", "b")
        await to.step()
        receiver.answer = answering(200)
        await place.due(to)
        await drained(to)
        first, second = receiver.requests
        assert first.ids == second.ids == receiver.taken == written
        assert first.headers["webhook-id"] == second.headers["webhook-id"]


@pytest.mark.parametrize(("status", "asked", "waits"), [(429, "7", 7), (503, "86400", LONGEST_ASKED)])
async def test_retry_after_is_honoured_up_to_an_hour(
    place: Place, status: int, asked: str, waits: float
) -> None:
    async with HttpReceiver(answer=answering(status, Retry_After=asked)).listening() as receiver:
        to = await place.delivery(place.destination(receiver.url))
        await place.write("a")
        await to.step()
    due_in = (await place.state(to)).due_in
    assert due_in is not None
    assert waits - 60 < due_in <= waits


def test_the_waiting_time_doubles_with_jitter_up_to_five_minutes() -> None:
    for failures, whole in ((0, 1), (3, 8), (8, 256), (9, 300), (10_000, 300)):
        waits = {backoff(failures) for _ in range(50)}
        assert len(waits) > 1
        assert all(whole / 2 <= wait <= whole for wait in waits)


async def test_a_receiver_that_hangs_is_given_up_after_the_timeout(place: Place) -> None:
    async with HttpReceiver(hangs=True).listening() as receiver:
        to = await place.delivery(place.destination(receiver.url, timeout=0.2))
        await place.write("a")
        async with asyncio.timeout(30):
            await to.step()
    assert (await place.state(to)).reason == "no answer within 0.2 s"


async def test_only_one_worker_sends_until_its_lease_is_over(place: Place) -> None:
    async with HttpReceiver().listening() as receiver:
        where = place.destination(receiver.url)
        first, two = await place.delivery(where, "w1"), await place.delivery(where, "w2")
        written = await place.write("a")
        await two.step()
        assert receiver.requests == []
        await first.close()  # its worker ends, and releases the lease
        await drained(two)
        assert receiver.taken == written
        assert (await place.state(where)).worker == "w2"


async def test_a_lease_from_while_the_clock_was_ahead_holds_nobody_up(place: Place) -> None:
    async with HttpReceiver().listening() as receiver:
        where = place.destination(receiver.url)
        first, two = await place.delivery(where, "w1"), await place.delivery(where, "w2")
        ahead = (
            "UPDATE sys.export_destination SET lease_time = lease_time + interval '1 hour' WHERE name = :name"
        )
        await place.execute(ahead, name=where.name)
        await first.step()  # it lives, and takes the lease anew
        await two.step()
        assert (await place.state(where)).worker == "w1"
        await place.execute(ahead, name=where.name)
        written = await place.write("a")
        await drained(two)  # the other one has died
        assert (receiver.taken, (await place.state(where)).worker) == (written, "w2")


async def test_a_worker_killed_within_a_batch_has_it_sent_again_by_another_one(place: Place) -> None:
    async with HttpReceiver(hangs=True).listening() as receiver:
        where = place.destination(receiver.url)
        await (await place.delivery(where, "w0")).close()
        written = await place.write("a", "b")
        worker = forks().Process(target=sender.run, args=(place.url, where))
        await asyncio.to_thread(worker.start)
        await until(lambda: bool(receiver.requests))
        worker.kill()
        await asyncio.to_thread(worker.join)
        receiver.hangs = False
        two = await place.delivery(where, "w2")
        assert receiver.taken == []  # the lease of the first one is not over
        await place.execute(
            "UPDATE sys.export_destination SET lease_time = now() WHERE name = :name", name=where.name
        )
        await drained(two)
        first, second = receiver.requests
        assert first.ids == second.ids == receiver.taken == written


async def test_a_worker_that_was_frozen_does_not_move_the_position_of_its_successor(place: Place) -> None:
    async with HttpReceiver().listening() as receiver:
        where = place.destination(receiver.url)
        first, two = await place.delivery(where, "w1"), await place.delivery(where, "w2")
        written = await place.write("a")
        state = await first._look()
        assert state is not None
        await place.execute(
            "UPDATE sys.export_destination SET lease_time = now() WHERE name = :name", name=where.name
        )
        await drained(two)
        done = await place.state(where)
        with pytest.raises(module._TakenOver):
            await first._deliver("operations", state.position("operations") or 0, state)
        assert (await place.state(where)).operation_id == done.operation_id
        assert receiver.taken == written * 2  # at least once


async def test_an_entry_that_the_receiver_refuses_is_set_aside_and_the_others_arrive(place: Place) -> None:
    async with HttpReceiver(answer=poisoned(400)).listening() as receiver:
        to = await place.delivery(place.destination(receiver.url))
        written = await place.write("a", "b", "poison", "d", "e")
        await drained(to)
    assert receiver.taken == [written[0], written[1], written[3], written[4]]
    state = await place.state(to)
    assert (state.dead_letters, state.sent, state.failures) == (1, 4, 0)
    assert to.counts == {"sent": 4, "dead": 1}


async def test_a_receiver_that_refuses_everything_makes_no_dead_letters(place: Place) -> None:
    async with HttpReceiver(answer=answering(400)).listening() as receiver:
        to = await place.delivery(place.destination(receiver.url))
        written = await place.write("a", "b")
        await to.step()
        state = await place.state(to)
        assert (state.dead_letters, state.failures, state.reason) == (0, 1, "the receiver responds with 400")
        receiver.answer = answering(200)
        await place.due(to)
        await drained(to)
    assert receiver.taken == written


async def test_a_refused_entry_is_set_aside_also_while_no_other_one_waits(place: Place) -> None:
    async with HttpReceiver(answer=poisoned(413)).listening() as receiver:
        to = await place.delivery(place.destination(receiver.url))
        written = await place.write("a")
        await drained(to)
        for number in (1, 2):  # the second has a dead letter before it, which proves nothing
            await place.write("poison")
            await drained(to)
            state = await place.state(to)
            assert (state.dead_letters, state.failures, state.waiting_time) == (number, 0, None)
        later = await place.write("b")
        await drained(to)
    assert receiver.taken == [written[0], written[0], written[0], later[0]]


async def test_a_refused_entry_that_fills_a_batch_does_not_stop_those_after_it(place: Place) -> None:
    async with HttpReceiver(answer=poisoned(413)).listening() as receiver:
        to = await place.delivery(place.destination(receiver.url, batch=1))
        await place.write("a", "poison", "b")
        await drained(to)
    assert (await place.state(to)).sent == 2


async def test_a_receiver_that_begins_to_refuse_everything_makes_no_dead_letter_of_one_entry(
    place: Place,
) -> None:
    async with HttpReceiver().listening() as receiver:
        to = await place.delivery(place.destination(receiver.url))
        await place.write("a")
        await drained(to)
        receiver.answer = answering(400)
        await place.write("b")
        await to.step()
        state = await place.state(to)
        assert (state.dead_letters, state.failures) == (0, 1)
        assert len(receiver.requests) == 3  # what it had taken before was asked too


async def test_an_entry_that_has_no_form_in_ocsf_is_set_aside_and_the_others_arrive(place: Place) -> None:
    async with HttpReceiver().listening() as receiver:
        to = await place.delivery(place.destination(receiver.url, format="ocsf"))
        _, broken, _ = await place.write("a", "b", "c")
        await place.execute(
            "UPDATE sys.operation_log SET params = '{\"x\": 1e5000}' WHERE event_id = :id", id=broken
        )
        with capture_logs():  # a traceback with all its variables takes long to write
            await drained(to)
    state = await place.state(to)
    assert (state.dead_letters, state.sent) == (1, 2)


async def test_a_fault_of_the_service_is_told_as_a_failure_and_ends_nothing(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with HttpReceiver().listening() as receiver:
        to = await place.delivery(place.destination(receiver.url))
        written = await place.write("a")
        with monkeypatch.context() as broken:
            broken.setattr(module, "entry_of", lambda *_given: 1 / 0)
            with capture_logs():
                await to.step()
        state = await place.state(to)
        assert (state.failures, state.waiting_time is None) == (1, False)
        assert "ZeroDivisionError" in (state.reason or "")
        await place.due(to)
        await drained(to)
    assert receiver.taken == written


async def test_an_entry_on_which_the_receiver_fails_again_and_again_is_found(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "ISOLATE_AFTER", 2)

    async with HttpReceiver(answer=poisoned(500)).listening() as receiver:
        to = await place.delivery(place.destination(receiver.url))
        written = await place.write("a", "poison", "c")
        for _ in range(2):
            await to.step()
            assert receiver.taken == []
            await place.due(to)
        await drained(to)
    assert receiver.taken == [written[0], written[2]]
    assert (await place.state(to)).dead_letters == 1


async def test_a_log_that_fails_is_not_forgotten_while_another_one_of_the_destination_is_taken(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "ISOLATE_AFTER", 2)

    async with HttpReceiver(answer=poisoned(500)).listening() as receiver:
        to = await place.delivery(place.destination(receiver.url))
        await place.write_login()
        await place.write_login(user_name="poison")
        for failures in (1, 2):
            await place.write("something else")
            await to.step()
            state = await place.state(to)
            assert (state.failures, state.waiting_time is None) == (failures, False)
            await place.due(to)
        await place.write("something else")
        await drained(to)
    state = await place.state(to)
    assert (state.dead_letters, state.sent, state.failures, state.waiting_time) == (1, 4, 0, None)


async def test_a_batch_is_cut_at_a_mebibyte(place: Place) -> None:
    async with HttpReceiver().listening() as receiver:
        to = await place.delivery(place.destination(receiver.url))
        written = await place.write(*map(str, range(80)), params={"text": "x" * 16_000})
        await drained(to)
    assert receiver.taken == written
    assert len(receiver.requests) == 2
    assert all(len(request.body) <= module.MOST_BYTES + 1000 for request in receiver.requests)


async def test_an_entry_is_complete(place: Place) -> None:
    async with HttpReceiver().listening() as receiver:
        to = await place.delivery(place.destination(receiver.url, logs=("operations",)))
        await place.write("a", user_id=7, user_name="ann", targets=("role:auditor",), change_count=1)
        await drained(to)
    (entry,) = json.loads(receiver.requests[0].body)
    assert len(base64.b64decode(entry["entry"].pop("salts"))) % 16 == 0
    assert {**entry, "id": "", "time": "", "chain": ""} == {
        "id": "",
        "log": "operations",
        "time": "",
        "entry": {
            "module": "user",
            "action": "a",
            "kind": "update",
            "method": "PUT",
            "url": "/api/user/7/status",
            "status": 200,
            "elapsedMs": 1.25,
            "clientIp": "192.0.2.7",
            "params": {"status": "disabled"},
            "userId": 7,
            "userName": "ann",
            "targets": ["role:auditor"],
            "changeCount": 1,
        },
        "chain": "",
    }
    assert entry["chain"]["number"] > 0
    assert len(bytes.fromhex(entry["chain"]["hash"])) == 32


async def test_a_syslog_server_that_is_restarted_within_a_batch_gets_it_again(place: Place) -> None:
    listener, address = tcp()
    async with SyslogServer(stops=True).listening(listener) as server:
        to = await place.delivery(place.destination(f"syslog+tcp://{address}"))
        written = await place.write(*map(str, range(90)), params={"text": "x" * 1000})
        await to.step()
        assert (await place.state(to)).failures == 1
        server.stops = False
        await place.due(to)
        await drained(to)
    texts = messages_of(b"".join(server.received))
    assert [json.loads(message.partition("] ")[2])["id"] for message in texts] == written


async def test_entries_are_found_by_their_id_in_each_month_and_never_by_reading_a_log(place: Place) -> None:
    await place.execute(
        "INSERT INTO sys.operation_log"
        " (create_time, event_id, module, action, kind, method, url, status, elapsed_ms)"
        " SELECT now() - n * interval '3 hours', gen_random_uuid(), 'm', 'a', 'k', 'GET', '/', 200, 1"
        " FROM generate_series(1, 5000) AS n"
    )
    await place.execute("ANALYZE sys.operation_log")
    async with place.database.transaction() as connection:
        statement = store_entries._statement("operations", 100, 101).compile(
            place.database._engine.sync_engine, compile_kwargs={"literal_binds": True}
        )
        plan = "\n".join((await connection.execute(text(f"EXPLAIN {statement}"))).scalars())
    assert "Merge Append" in plan
    assert "Seq Scan" not in plan
