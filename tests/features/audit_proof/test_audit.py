import json
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import redis
from sqlalchemy import text

from service.audit.key_chain import Chain
from service.features.audit_proof import store_chain as chain
from service.features.audit_proof.appending import sealed
from service.features.audit_proof.days import Audit, Day
from service.features.audit_proof.lineage import checkpoints_in
from service.features.audit_proof.maintenance import head_facts
from service.features.embedded.stores import EmbeddedStores
from service.records.installation import restore_epochs
from service.records.logs.events import LoginEvent, OperationEvent
from tests.audit.conftest import Place, operation, place_at
from tests.support.databases import database, session_store
from tests.support.running import portcullis

KEY = "a key that only the service has, and an auditor"
YESTERDAY = datetime(2026, 3, 14, 23, 59, 59, 999_999, UTC)
ODD = {"n": [1e22, -0.0, 100.0, 0.1, 10**30 + 1, 1e-7, True, None], "z": "ä\x7f\u2028", "a": {"b": []}}


LOGS = ("operation_log", "login_log", "log_chain")


@pytest.fixture(scope="module")
async def _filled(stores: EmbeddedStores, seeded_template: str) -> AsyncIterator[Place]:
    """Five operations of one day, one of the day before, and a login, written by two workers."""
    with database(stores, seeded_template) as url, session_store(stores) as redis_url:
        async with place_at(url, redis_url) as place:
            async with place.journal("one", chain_key=KEY) as journal:
                for number in (1, 2, 3):
                    journal.collector.operation(odd(number))
                journal.collector.operation(operation(0, create_time=YESTERDAY, elapsed_ms=3))
                journal.collector.login(LoginEvent(event="login", outcome="failure", create_time=YESTERDAY))
            async with place.journal("two", chain_key=KEY) as journal:
                for number in (4, 5):
                    journal.collector.operation(odd(number))
            await change(place, *(f"CREATE TABLE saved_{log} AS TABLE sys.{log}" for log in LOGS))
            yield place


@pytest.fixture
async def filled(_filled: Place) -> Place:
    """The same for every test, whatever the one before has done to it."""
    with redis.Redis.from_url(_filled.redis_url) as client:
        client.delete("auth:log:heads")
    for log in LOGS:
        restored = f"INSERT INTO sys.{log} OVERRIDING SYSTEM VALUE TABLE saved_{log}"
        await change(_filled, f"DELETE FROM sys.{log}", restored)
    return _filled


def odd(number: int) -> OperationEvent:
    """Return an event whose values the database writes otherwise than they were given."""
    moment = YESTERDAY + timedelta(seconds=1 + number)
    return operation(
        number,
        params=ODD,
        response=[1.5],
        client_ip="2001:DB8::0:1",
        targets=("role:a", 'user:"ä\\,{}'),
        changes=[{"target": "role:a", "field": "roleName", "before": "B", "after": None}],
        change_count=1,
        dry_run=True,
        repetitions=3,
        create_time=moment,
    )


async def audited(place: Place, key: str = KEY, **options: Any) -> list[Day]:
    return [day async for day in Audit(database=place.database, keys=[Chain(key), Chain()], **options).days()]


async def faults(place: Place, **options: Any) -> list[str]:
    return [
        f"{day.log} {day.day}: {fault}" for day in await audited(place, **options) for fault in day.faults
    ]


async def change(place: Place, *statements: str) -> None:
    async with place.database.transaction() as connection:
        for statement in statements:
            await connection.execute(text(statement))


async def test_logs_that_nobody_touched_are_as_they_were_written(filled: Place) -> None:
    days = await audited(filled)
    assert [(day.log, str(day.day), day.entries) for day in days] == [
        ("operation_log", "2026-03-14", 1),
        ("operation_log", "2026-03-15", 5),
        ("login_log", "2026-03-14", 1),
    ]
    assert [fault for day in days for fault in day.faults] == []


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        (
            "UPDATE sys.operation_log SET status = 403 WHERE chain_number = 3",
            "number 3, was changed or moved",
        ),
        (
            'UPDATE sys.operation_log SET params = params || \'{"a": {"b": [0]}}\' WHERE chain_number = 3',
            "number 3, was changed or moved",
        ),
        (
            "UPDATE sys.operation_log SET client_ip = '2001:db8::2' WHERE chain_number = 3",
            "number 3, was changed or moved",
        ),
        ("UPDATE sys.operation_log SET query = '' WHERE chain_number = 3", "number 3, was changed or moved"),
        (
            "UPDATE sys.operation_log SET targets = '{role:b}' WHERE chain_number = 3",
            "number 3, was changed or moved",
        ),
        (
            "UPDATE sys.operation_log SET targets = NULL WHERE chain_number = 3",
            "number 3, was changed or moved",
        ),
        (
            "UPDATE sys.operation_log SET changes = changes #- '{0,before}' WHERE chain_number = 3",
            "number 3, was changed or moved",
        ),
        (
            (
                "UPDATE sys.operation_log SET targets = NULL, changes = NULL, change_count = NULL"
                " WHERE chain_number = 3"
            ),
            "number 3, was changed or moved",
        ),
        (
            "UPDATE sys.operation_log SET dry_run = NULL WHERE chain_number = 3",
            "number 3, was changed or moved",
        ),
        (
            "UPDATE sys.operation_log SET repetitions = 4 WHERE chain_number = 3",
            "number 3, was changed or moved",
        ),
        (
            "UPDATE sys.operation_log SET dry_run = false WHERE chain_number = 4",
            "number 4, was changed or moved",
        ),
        ("DELETE FROM sys.operation_log WHERE chain_number = 3", "number 3 was removed"),
        ("DELETE FROM sys.operation_log WHERE action = 'action 1'", "number 1 was removed"),
        ("DELETE FROM sys.operation_log WHERE chain_number > 3", "numbers 4 to 5 were removed"),
        ("DELETE FROM sys.operation_log WHERE create_time > '2026-03-15Z'", "numbers 1 to 5 were removed"),
        (
            "UPDATE sys.operation_log SET chain_number = 9 - chain_number WHERE chain_number IN (4, 5)",
            "number 4, was changed or moved",
        ),
        (
            "UPDATE sys.operation_log SET create_time = create_time + '1 us' WHERE chain_number = 3",
            "number 3, was changed or moved",
        ),
        (
            "UPDATE sys.log_chain SET number = 4 WHERE number = 5",
            "numbers 5 to 5 were added after its head",
        ),
        ("DELETE FROM sys.log_chain WHERE number = 5", "is not in the chain: it was inserted"),
        ("UPDATE sys.log_chain SET dropped = true WHERE number = 5", "its head was changed"),
    ],
)
async def test_what_was_tampered_with_is_found_and_told(filled: Place, statement: str, expected: str) -> None:
    await change(filled, statement)
    messages = await faults(filled)
    assert any(
        message.startswith("operation_log 2026-03-15: ") and message.endswith(expected)
        for message in messages
    ), messages


async def test_only_the_entry_that_was_changed_is_told(filled: Place) -> None:
    await change(filled, "UPDATE sys.operation_log SET user_name = 'eve' WHERE chain_number = 2")
    (row,) = [row for row in await filled.rows() if row.chain_number == 2]
    assert await faults(filled) == [
        f"operation_log 2026-03-15: entry {row.id}, number 2, was changed or moved"
    ]


@pytest.mark.parametrize(
    ("place_in_chain", "expected"),
    [
        ("NULL, NULL, NULL", "is not in the chain: it was inserted"),
        ("chain_key, chain_number, chain_hash", "repeats number 5: it was inserted or moved"),
        ("chain_key, chain_number + 1, chain_hash", "number 6, was changed or moved"),
        ("'', 1, chain_hash", "is not in the chain: it was inserted"),
    ],
)
async def test_an_entry_that_was_inserted_is_told(filled: Place, place_in_chain: str, expected: str) -> None:
    columns = "create_time, module, action, kind, method, url, status, elapsed_ms"
    await change(
        filled,
        f"INSERT INTO sys.operation_log (event_id, {columns}, chain_key, chain_number, chain_hash)"
        f" SELECT gen_random_uuid(), {columns}, {place_in_chain}"
        " FROM sys.operation_log WHERE chain_number = 5",
    )
    assert any(fault.endswith(expected) for fault in await faults(filled))


@pytest.mark.parametrize(
    ("moment", "day"),
    [
        ("infinity", "9999-12-31"),
        ("12000-05-01Z", "9999-12-31"),
        ("9999-12-31 12:00Z", "9999-12-31"),
        ("0044-03-15Z BC", "0001-01-02"),
        ("-infinity", "0001-01-02"),
    ],
)
async def test_rows_of_times_that_no_log_has_are_told_and_all_other_days_are_verified(
    filled: Place, moment: str, day: str
) -> None:
    columns = "module, action, kind, method, url, status, elapsed_ms, chain_key, chain_number, chain_hash"
    await change(
        filled,
        f"INSERT INTO sys.operation_log (event_id, create_time, {columns})"
        f" SELECT gen_random_uuid(), '{moment}', {columns} FROM sys.operation_log WHERE chain_number = 5",
        "INSERT INTO sys.log_chain (log, day, key_id, number, hash, seal, prior_day)"
        f" SELECT log, '{moment}', key_id, number, hash, seal, '{moment}' FROM sys.log_chain"
        " WHERE log = 'login_log'",
    )
    days = await audited(filled)
    faulty = [(log_day.log, str(log_day.day)) for log_day in days if log_day.faults]
    assert faulty == [("operation_log", day), ("login_log", day)]
    assert len(days) == 5


async def test_a_day_that_is_gone_with_its_head_is_remembered_by_the_day_after(filled: Place) -> None:
    await change(
        filled,
        "DELETE FROM sys.operation_log WHERE create_time < '2026-03-15Z'",
        "DELETE FROM sys.log_chain WHERE day = '2026-03-14' AND log = 'operation_log'",
    )
    assert await faults(filled) == [
        "operation_log 2026-03-14: it was removed with its head; 2026-03-15 follows it"
    ]


async def test_a_chain_made_anew_without_the_key_is_told(filled: Place) -> None:
    await change(
        filled,
        "DELETE FROM sys.operation_log WHERE create_time >= '2026-03-15Z'",
        "DELETE FROM sys.log_chain WHERE day = '2026-03-15'",
    )
    async with filled.journal() as journal:
        journal.collector.operation(operation(1, create_time=YESTERDAY + timedelta(seconds=9)))
    assert await faults(filled) == [
        "operation_log 2026-03-15: its chain has no key, although keys were used from 2026-03-14"
    ]
    assert [day.keyless for day in await audited(filled)] == [False, True, False]


async def test_a_chain_of_another_key_is_told_until_the_key_is_given(filled: Place) -> None:
    other = "the key that was used until somebody left"
    async with filled.journal(chain_key=other) as journal:
        journal.collector.operation(operation(1, create_time=YESTERDAY))
    key_id = Chain(other).key_id
    assert await faults(filled) == [
        f"operation_log 2026-03-14: its chain uses the key {key_id}, which is not available"
    ]
    audit = Audit(database=filled.database, keys=[Chain(KEY), Chain(), Chain(other)])
    assert [fault async for day in audit.days() for fault in day.faults] == []


async def test_heads_that_were_kept_elsewhere_tell_what_even_the_holder_of_the_key_removed(
    filled: Place,
) -> None:
    async with filled.database.transaction() as connection:
        heads = await chain.heads(connection, "operation_log")
        restore_epoch = await restore_epochs.current(connection)
    assert restore_epoch is not None
    lines = [
        '{"event":"request"}',
        "no JSON, head of a log",
        '{"event":"head of a log","day":' + "[" * 50_000,
    ]
    lines += ['{"event":"head of a log","day":"2026-03-14","number":1e999}', '["head of a log"]']
    lines += [json.dumps({"event": "head of a log", **head_facts(head, restore_epoch)}) for head in heads]
    kept = checkpoints_in(lines)
    assert await faults(filled, checkpoints=kept) == []
    (fourth,) = [row for row in await filled.rows() if row.chain_number == 4]
    await change(filled, "DELETE FROM sys.operation_log WHERE chain_number = 5")
    async with filled.database.transaction() as connection:
        shorter = replace(heads[-1], number=4, hash=fourth.chain_hash)
        await chain.save(connection, [sealed(Chain(KEY), shorter)])
    assert await faults(filled) == []
    assert await faults(filled, checkpoints=kept) == [
        "operation_log 2026-03-15: it ends with number 4, but 5 entries were reported earlier"
    ]
    await change(
        filled, "DELETE FROM sys.operation_log", "DELETE FROM sys.log_chain WHERE day > '2026-03-14'"
    )
    assert (
        "operation_log 2026-03-15: its head is missing, but 5 entries were reported earlier"
    ) in await faults(filled, checkpoints=kept)


async def test_the_command_tells_which_day_is_not_as_it_was_written(filled: Place, tmp_path: Path) -> None:
    environ = {
        "DATABASE_URL": filled.database_url,
        "REDIS_URL": filled.redis_url,
        "JWT_SECRET": "hinges-2-portals-7-winches-4-chains-9",
        "PORTCULLIS_OPLOG__CHAIN_KEY": KEY,
    }
    await change(filled, "DELETE FROM sys.operation_log WHERE chain_number = 5")
    broken = portcullis(tmp_path, "audit", "verify", "--to", "2026-03-15", **environ)
    assert broken.status == 1
    assert broken.output.splitlines() == [
        "policy revisions: 0, unchanged",
        "past rights: not sealed yet",
        "operation_log 2026-03-14: 1 entries, unchanged",
        "operation_log 2026-03-15: 4 entries, CHANGED after writing",
        "  number 5 was removed",
        "login_log 2026-03-14: 1 entries, unchanged",
    ]
    assert "changed after they were written: 1" in broken.errors


async def test_the_command_says_that_no_key_protects_the_logs(filled: Place, tmp_path: Path) -> None:
    environ = {
        "DATABASE_URL": filled.database_url,
        "REDIS_URL": filled.redis_url,
        "JWT_SECRET": "hinges-2-portals-7-winches-4-chains-9",
    }
    keyless = portcullis(tmp_path, "audit", "verify", **environ)
    keyed = portcullis(tmp_path, "audit", "verify", PORTCULLIS_OPLOG__CHAIN_KEY=KEY, **environ)

    assert keyed.status == 0, keyed.output
    assert keyless.output.startswith("logs and policy revisions: no key (oplog.chain_key is not set): ")
    assert "oplog.chain_key" not in keyed.output
