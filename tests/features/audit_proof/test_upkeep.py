"""Months of the logs: made ahead, filled from the default partition, and dropped when they are old."""

import asyncio
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest
from sqlalchemy import text

from service.audit.entries import encode
from service.audit.key_chain import Chain
from service.features.audit_proof import maintenance
from service.features.audit_proof import store_chain as log_chain
from service.features.audit_proof import store_months as log_months
from service.features.audit_proof.appending import sealed
from service.features.audit_proof.days import Audit
from service.features.audit_proof.maintenance import Upkeep
from service.features.audit_proof.writer import Writing
from service.records.database.transactions import Database
from service.records.schema import base
from tests.audit.conftest import Place, operation
from tests.support.shifted import shift_dates

PARTITIONS = """
SELECT child.relname, pg_get_expr(child.relpartbound, child.oid), (
    SELECT count(*) FROM pg_index WHERE indrelid = child.oid
) FROM pg_inherits JOIN pg_class child ON child.oid = inhrelid
WHERE inhparent = 'sys.operation_log'::regclass ORDER BY 1
"""


@pytest.fixture(autouse=True)
async def no_months(place: Place) -> None:
    """Leave the operation log with its default partition alone."""
    async with place.database.transaction() as connection:
        for name, *_ in (await connection.execute(text(PARTITIONS))).all():
            if not name.endswith("_default"):
                await connection.execute(text(f"DROP TABLE sys.{name}"))


async def partitions(place: Place) -> dict[str, int]:
    """Return the rows of each partition of the operation log."""
    async with place.database.transaction() as connection:
        names = [row[0] for row in await connection.execute(text(PARTITIONS))]
        return {
            name.removeprefix("operation_log_"): (
                await connection.execute(text(f"SELECT count(*) FROM sys.{name}"))
            ).scalar_one()
            for name in names
        }


def upkeep(place: Place, days: int = 0, chain: Chain | None = None) -> Upkeep:
    return Upkeep(place.database, chain or Chain(), {"operation_log": days, "login_log": 0})


async def write_on(place: Place, *days: str, chain: Chain | None = None) -> None:
    lines = [
        encode(operation(action=day, create_time=datetime.fromisoformat(f"{day}T23:30:00+00:00")))
        for day in days
    ]
    await Writing(place.database, chain or Chain()).write("operation_log", lines)


async def days(place: Place, *keys: Chain) -> list[tuple[str, int, bool, list[str]]]:
    audit = Audit(database=place.database, keys=[*keys, Chain()])
    return [(str(day.day), day.entries, day.dropped, list(day.faults)) async for day in audit.days()]


async def test_months_are_made_before_they_begin_and_take_their_entries(place: Place) -> None:
    await upkeep(place).months(date(2026, 11, 30))
    await write_on(place, "2026-11-30", "2026-12-31", "2027-01-01", "2027-02-01")
    assert await partitions(place) == {"2026_11": 1, "2026_12": 1, "2027_01": 1, "default": 1}


async def test_entries_without_a_month_move_into_one_that_is_made_for_them(place: Place) -> None:
    await write_on(place, "2026-11-30", "2026-12-31", "1999-06-05")
    assert await partitions(place) == {"default": 3}
    before = await place.rows()
    await upkeep(place).months(date(2026, 12, 1))
    assert await partitions(place) == {
        "1999_06": 1,
        "2026_11": 1,
        "2026_12": 1,
        "2027_01": 0,
        "2027_02": 0,
        "default": 0,
    }
    assert await place.rows() == before
    assert [faults for *_, faults in await days(place)] == [[], [], []]
    async with place.database.transaction() as connection:
        assert (
            len({row[2] for row in await connection.execute(text(PARTITIONS))}) == 1
        )  # all have the indexes


async def tables_being_filled(place: Place) -> list[str]:
    async with place.database.transaction() as connection:
        names = text(
            "SELECT relname FROM pg_class WHERE relname LIKE '%\\_log\\_moving\\_%' AND relkind = 'r'"
        )
        return list((await connection.execute(names)).scalars())


async def test_while_entries_are_copied_the_log_is_read_and_written(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_months, "PORTION", 2)
    await write_on(place, "2026-11-29", "2026-11-30", "2026-12-01")
    async with place.database.transaction(within=20.0) as connection:
        assert await log_months.stage(connection, "operation_log", 2) == 2
        async with asyncio.timeout(10.0):
            await write_on(place, "2026-11-28", "2027-01-01")
            assert len(await place.rows()) == 5
    assert len(await place.rows()) == 5
    await upkeep(place).months(date(2026, 12, 1))
    assert await partitions(place) == {"2026_11": 3, "2026_12": 1, "2027_01": 1, "2027_02": 0, "default": 0}
    assert await tables_being_filled(place) == []


async def test_a_move_of_months_that_is_broken_off_anywhere_loses_and_doubles_nothing(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_months, "PORTION", 1)
    for day in range(10, 22):
        await write_on(place, f"2026-{10 + day % 3}-{day}")
    before = await place.rows()
    broken_off, wait = 0, 0.001
    while True:
        moving = asyncio.create_task(upkeep(place).months(date(2026, 12, 1)))
        await asyncio.wait([moving], timeout=wait)
        if moving.done():
            if moving.result():
                break
            continue  # the server has not ended the transaction of the one before yet
        moving.cancel()  # as a process that is killed: its transaction ends
        await asyncio.wait([moving])
        assert await place.rows() == before
        broken_off, wait = broken_off + 1, 1.3 * wait
    assert broken_off > 3
    assert await place.rows() == before
    assert (await partitions(place))["default"] == 0
    assert await tables_being_filled(place) == []
    assert {fault for *_, faults in await days(place) for fault in faults} == set()


async def test_a_machine_whose_clock_is_years_ahead_drops_no_month(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    today, years = datetime.now(UTC).date(), timedelta(days=4000)
    await upkeep(place).months(today)
    for module in (maintenance, base):
        shift_dates(monkeypatch, module, years)
    await upkeep(place, 30).today()

    month, ahead = (f"{day:%Y_%m}" for day in (today, today + years))
    assert (await partitions(place)).keys() >= {month, ahead}


async def test_many_workers_that_start_at_once_make_each_month_once_while_others_write(place: Place) -> None:
    async with Database(place.database_url, pool_size=5) as database:
        many = [Upkeep(database, Chain(), {"operation_log": 0, "login_log": 0}) for _ in range(4)]
        written = [write_on(place, "2026-12-01", "2026-12-02") for _ in range(4)]
        await asyncio.gather(*(worker.months(date(2026, 12, 1)) for worker in many), *written)
        await asyncio.gather(*(worker.months(date(2026, 12, 1)) for worker in many))
    assert (await partitions(place))["2026_12"] == 8


async def test_a_month_is_dropped_once_its_last_day_is_old_enough_and_is_no_tampering(place: Place) -> None:
    chain = Chain("a key that only the service has, and an auditor")
    await write_on(place, "2026-09-30", "2026-10-01", "2026-10-31", "2026-11-01", chain=chain)
    kept = upkeep(place, 30, chain)
    await kept.months(date(2026, 11, 30))
    assert (await partitions(place)).keys() >= {"2026_10", "2026_11"}
    assert "2026_09" not in await partitions(place)
    await kept.months(date(2026, 12, 1))
    assert "2026_10" not in await partitions(place)
    assert await days(place, chain) == [
        ("2026-09-30", 0, True, []),
        ("2026-10-01", 0, True, []),
        ("2026-10-31", 0, True, []),
        ("2026-11-01", 1, False, []),
    ]


async def test_a_month_that_is_dropped_after_the_key_was_replaced_is_no_tampering(place: Place) -> None:
    none, old, new = (Chain(key) for key in ("", "the key until today", "the key from today on"))
    for day, chain in (("2026-09-29", none), ("2026-09-30", old), ("2026-11-01", new)):
        await write_on(place, day, chain=chain)
    await upkeep(place).months(date(2026, 11, 30))
    await upkeep(place, 30, new).months(date(2026, 11, 30))
    for keys in ((new, old), (new,)):
        assert [each[1:] for each in await days(place, *keys)] == [
            (0, True, []),
            (0, True, []),
            (1, False, []),
        ]

    async with place.database.transaction() as connection:
        heads = await log_chain.heads(connection, "operation_log")
        await log_chain.save(connection, [sealed(none, replace(head, dropped=True)) for head in heads[1:]])
    assert [faults[:1] for *_, faults in await days(place, new, old)][1:] == [["its head was changed"]] * 2


async def test_a_month_that_somebody_dropped_is_tampering(place: Place) -> None:
    await upkeep(place).months(date(2026, 12, 1))
    await write_on(place, "2026-12-01")
    async with place.database.transaction() as connection:
        await connection.execute(text("DROP TABLE sys.operation_log_2026_12"))
    assert await days(place) == [("2026-12-01", 0, False, ["number 1 was removed"])]


async def test_a_head_is_told_once_until_it_grows(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    def warnings() -> int:
        return capsys.readouterr().err.count("head of a log")

    keeper = upkeep(place)
    await write_on(place, "2026-11-30", "2026-12-01")
    await keeper.report_heads()
    assert warnings() == 2
    await keeper.report_heads()
    assert warnings() == 0
    await write_on(place, "2026-12-01")
    await keeper.report_heads()
    assert warnings() == 1
