"""A bit position is given again only once no token and no worker can take it for the old code."""

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import text

from service.errors import RateLimited
from service.records.database.transactions import Connection, Database
from service.records.published import bit_positions, policy_workers
from service.records.published.bit_positions import OF_ALL, OF_USER, give, retire
from service.records.schema import base
from tests.support.shifted import shift_dates

ANN, BOB = 101, 102
LONG_AGO = 100_000
"""A position that no Button of these tests has."""


@pytest.fixture
async def connection(connection: Connection) -> Connection:
    """A transaction, rolled back after the test, in which nobody else has reported or retired anything."""
    for table in ("policy_worker", "retired_bit", "token_life"):
        await connection.execute(text(f"DELETE FROM sys.{table}"))
    await bit_positions.report_life(connection, 7200)
    return connection


async def scalar(connection: Connection, statement: str, **values: Any) -> Any:
    return (await connection.execute(text(statement), values)).scalar_one()


async def hours_to_wait(connection: Connection, position: int = LONG_AGO) -> float:
    asked = (
        "SELECT extract(epoch FROM free_time - now()) / 3600 FROM sys.retired_bit WHERE position = :position"
    )
    return float(await scalar(connection, asked, position=position))


async def let_expire(connection: Connection) -> None:
    await connection.execute(text("UPDATE sys.retired_bit SET free_time = now()"))


async def newest(connection: Connection) -> int:
    return int(await scalar(connection, "SELECT coalesce(max(revision), 0) FROM sys.policy_revision"))


async def test_a_retired_position_is_not_given_before_its_time_and_is_given_then(
    connection: Connection,
) -> None:
    await retire(connection, LONG_AGO, ANN)
    assert await give(connection, ANN) == LONG_AGO + 1
    await let_expire(connection)

    assert await give(connection, ANN) == LONG_AGO
    assert await give(connection, ANN) != LONG_AGO


async def test_a_position_is_not_given_before_its_time_by_two_clocks(
    connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A database that is ahead must not make tokens mean something else."""
    await retire(connection, LONG_AGO, ANN)
    await let_expire(connection)
    shift_dates(monkeypatch, base, timedelta(hours=-1))

    assert await give(connection, ANN) == LONG_AGO + 1


async def test_the_lowest_free_position_is_given_first(connection: Connection) -> None:
    for position in (LONG_AGO + 7, LONG_AGO, LONG_AGO + 3):
        await retire(connection, position, ANN)
    await let_expire(connection)

    given = [await give(connection, ANN) for _ in range(3)]

    assert given == [LONG_AGO, LONG_AGO + 3, LONG_AGO + 7]


async def test_a_position_waits_longer_than_workers_go_on_with_a_map_that_they_can_not_renew(
    connection: Connection,
) -> None:
    await retire(connection, LONG_AGO, ANN)

    assert 12.1 < await hours_to_wait(connection) < 12.3


async def test_a_position_waits_for_the_longest_life_that_is_given_to_tokens(connection: Connection) -> None:
    await bit_positions.report_life(connection, 48 * 3600)
    await retire(connection, LONG_AGO, ANN)

    assert 48.1 < await hours_to_wait(connection) < 48.3


async def test_tokens_of_a_life_that_was_set_before_are_waited_for(connection: Connection) -> None:
    await bit_positions.report_life(connection, 96 * 3600)
    await connection.execute(
        text("UPDATE sys.token_life SET last_time = now() - interval '24 hours' WHERE seconds > 7200")
    )
    await retire(connection, LONG_AGO, ANN)

    # The last of them was issued a day ago.
    assert 72.1 < await hours_to_wait(connection) < 72.3


async def test_a_life_that_is_shortened_later_changes_nothing(connection: Connection) -> None:
    await bit_positions.report_life(connection, 48 * 3600)
    await retire(connection, LONG_AGO, ANN)
    await connection.execute(text("DELETE FROM sys.token_life WHERE seconds > 7200"))
    await bit_positions.report_life(connection, 60)

    assert 48.1 < await hours_to_wait(connection) < 48.3
    assert await give(connection, ANN) != LONG_AGO


async def test_lives_whose_tokens_have_all_expired_are_forgotten(connection: Connection) -> None:
    await connection.execute(
        text("INSERT INTO sys.token_life SELECT n, now() - interval '1 day' FROM unnest(ARRAY[60, 604800]) n")
    )
    await bit_positions.report_life(connection, 7200)

    selected = await connection.execute(text("SELECT seconds FROM sys.token_life ORDER BY 1"))
    assert list(selected.scalars()) == [7200, 604_800]


@pytest.mark.parametrize("silent", ["0 seconds", "1 minute", "11 hours"])
async def test_a_position_is_not_given_while_a_worker_may_have_the_old_map(
    connection: Connection, silent: str
) -> None:
    await retire(connection, LONG_AGO, ANN)
    await let_expire(connection)
    revision = await newest(connection)
    await policy_workers.report(connection, "quick", revision + 1, None, own_digest=None)
    await policy_workers.report(connection, "slow", revision, None, own_digest=None)
    await connection.execute(
        text(
            "UPDATE sys.policy_worker SET seen_time = now() - CAST(:silent AS interval) WHERE worker = 'slow'"
        ),
        {"silent": silent},
    )
    await policy_workers.forget(connection)
    assert await give(connection, ANN) != LONG_AGO

    await policy_workers.report(connection, "slow", revision + 1, None, own_digest=None)
    assert await give(connection, ANN) == LONG_AGO


async def test_a_worker_that_has_left_or_is_silent_for_longer_holds_up_nothing(
    connection: Connection,
) -> None:
    for worker in ("gone", "dead"):
        await policy_workers.report(connection, worker, 0, None, own_digest=None)
    await policy_workers.leave(connection, "gone")
    await connection.execute(
        text("UPDATE sys.policy_worker SET seen_time = now() - interval '13 hours 1 second'")
    )
    await retire(connection, LONG_AGO, ANN)
    await let_expire(connection)

    assert await give(connection, ANN) == LONG_AGO


async def test_a_user_makes_so_many_positions_wait_and_no_more(connection: Connection) -> None:
    for number in range(OF_USER):
        await give(connection, ANN)
        await retire(connection, LONG_AGO + number, ANN)

    with pytest.raises(RateLimited) as refused:
        await give(connection, ANN)
    assert 12 * 3600 < int(refused.value.headers["Retry-After"]) < 13 * 3600
    assert await give(connection, BOB)
    await connection.execute(
        text("UPDATE sys.retired_bit SET free_time = now() WHERE position = :one"), {"one": LONG_AGO}
    )
    assert await give(connection, ANN) == LONG_AGO


async def test_all_users_together_make_so_many_wait_and_those_of_earlier_versions_do_not_count(
    connection: Connection,
) -> None:
    many = (
        "INSERT INTO sys.retired_bit SELECT n, 1, {}, now() + interval '1 hour'"
        " FROM generate_series({}, {}) n"
    )
    await connection.execute(text(many.format("NULL", 200_000, 235_000)))
    await connection.execute(text(many.format("n", LONG_AGO, LONG_AGO + OF_ALL - 2)))
    assert await give(connection, ANN) == 235_001

    await retire(connection, 300_000, BOB)
    with pytest.raises(RateLimited):
        await give(connection, ANN)


async def test_a_change_that_is_undone_uses_up_no_position(database: Database) -> None:
    async def attempt() -> int:
        async with database.transaction(within=30) as connection:
            given = await give(connection, ANN)
            await connection.rollback()
            return given

    given = [await attempt() for _ in range(3)]

    assert given[0] == given[1] == given[2]


async def test_rows_that_others_insert_get_positions_of_their_own(connection: Connection) -> None:
    ours = await give(connection, ANN)
    button = (
        "INSERT INTO sys.menu (menu_type, title, auth_mark{}) VALUES ('Button', 'b', '{}'{})"
        " RETURNING bit_position"
    )
    assert await scalar(connection, button.format(", bit_position", "bits:ours", f", {ours}")) == ours
    theirs = await scalar(connection, button.format("", "bits:theirs", ""))

    assert theirs > ours
    assert await give(connection, ANN) == theirs + 1
