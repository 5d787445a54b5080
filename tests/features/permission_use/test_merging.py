"""What a worker has noted of the use of permissions reaches the database once, by code and by day."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator
from datetime import UTC, date, datetime, timedelta
from random import Random

import psycopg
import pytest

from service.authz.engine.policy import Decision
from service.authz.engine.rules import Rule
from service.features.permission_use import uses as permission_uses
from service.features.permission_use.jobs import forget_uses
from service.features.permission_use.notes import UseNotes
from service.features.permission_use.store import KEPT_MONTHS, LastUse, of_user, recorded_since
from service.features.permission_use.uses import PermissionUses
from service.kernel.codes import HeldCodes
from service.kernel.identity import Caller
from service.records.database.transactions import Database
from service.web.messages.context import RequestContext
from tests.features.permission_use.conftest import days_ago, store_uses, stored_uses

USERS = 4


class Clock:
    """Says the time that a test has chosen."""

    def __init__(self, moment: datetime) -> None:
        self.moment = moment

    def __call__(self) -> float:
        return self.moment.timestamp()


async def never() -> None:
    await asyncio.Event().wait()


def noting(database: Database, clock: Clock) -> PermissionUses:
    return PermissionUses(database, clock, never, clock)


@pytest.fixture
def url(seeded_database_url: str) -> str:
    """A database with a few users more, whose ids are 101 to 104."""
    with psycopg.connect(seeded_database_url) as connection:
        for number in range(101, 101 + USERS):
            connection.execute(
                'INSERT INTO sys."user" (id, user_name, user_name_key, nick_name) OVERRIDING SYSTEM VALUE'
                " VALUES (%s, %s, %s, %s)",
                (number, *[f"user{number}"] * 3),
            )
    return seeded_database_url


@pytest.fixture
async def database(url: str) -> AsyncIterator[Database]:
    async with Database(url, timeout=10) as opened:
        yield opened


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


async def test_uses_of_a_day_are_one_row_of_the_month(url: str, database: Database) -> None:
    uses = noting(database, Clock(at("2026-02-27T10:00")))
    uses.note(101, ("a:list", "a:read"))
    uses.note(101, ("a:read",))
    uses.note(102, ("b:*",))

    assert await uses.merge()
    day = date(2026, 2, 27)
    assert stored_uses(url) == {101: {"a:list": day, "a:read": day}, 102: {"b:*": day}}


async def test_days_and_months_are_told_apart_to_the_second(url: str, database: Database) -> None:
    clock = Clock(at("2026-02-28T23:59:59"))
    uses = noting(database, clock)
    uses.note(101, ("a:list", "a:read"))
    clock.moment += timedelta(seconds=1)
    uses.note(101, ("a:read",))
    await uses.merge()

    with psycopg.connect(url) as connection:
        rows = connection.execute("SELECT month, days FROM sys.permission_use ORDER BY month").fetchall()
    assert rows == [(date(2026, 2, 1), {"a:list": 28, "a:read": 28}), (date(2026, 3, 1), {"a:read": 1})]


async def test_a_request_that_was_noted_is_noted_again_the_next_day_and_after_a_merge(
    url: str, database: Database
) -> None:
    clock = Clock(at("2026-02-12T23:59:59"))
    uses = noting(database, clock)
    context = admitted(101, "a:list", "b:list")
    for _ in range(2):
        for _ in range(3):
            UseNotes(uses).note(context)
        clock.moment += timedelta(seconds=1)
    await uses.merge()
    day = date(2026, 2, 13)
    assert stored_uses(url) == {101: {"a:list": day, "b:list": day}}

    with psycopg.connect(url) as connection:
        connection.execute("DELETE FROM sys.permission_use")
    UseNotes(uses).note(context)
    await uses.merge()
    assert stored_uses(url) == {101: {"a:list": day, "b:list": day}}


def admitted(user_id: int, *codes: str) -> RequestContext:
    """Return the context of a request of a user, which lines with ``codes`` have admitted."""
    context = RequestContext({"headers": [], "path": "/api/thing"})
    context.caller = Caller(user_id, str(user_id), "a", "A", "web", (), HeldCodes(codes), 0.0)
    context.opened, context.decision = (
        Decision(True, layer, "thing", (code,), Rule(layer, "thing", code), 1, "", frozenset(codes))
        for layer, code in zip(("resource", "endpoint"), codes, strict=True)
    )
    return context


async def test_a_late_batch_takes_no_day_back(url: str, database: Database) -> None:
    late, early = (noting(database, Clock(at(f"2026-02-{day}T10:00"))) for day in (12, 11))
    late.note(101, ("a:list",))
    early.note(101, ("a:list", "a:read"))
    await late.merge()
    await early.merge()

    assert stored_uses(url) == {101: {"a:list": date(2026, 2, 12), "a:read": date(2026, 2, 11)}}


async def test_a_row_that_says_it_already_is_not_written_again(url: str, database: Database) -> None:
    uses = noting(database, Clock(at("2026-02-12T10:00")))
    written = []
    for _ in range(2):
        uses.note(101, ("a:list",))
        await uses.merge()
        with psycopg.connect(url) as connection:
            written += connection.execute("SELECT xmin::text FROM sys.permission_use").fetchall()

    assert written[0] == written[1]


async def test_a_day_is_never_later_than_the_databases(url: str, database: Database) -> None:
    uses = noting(database, Clock(datetime.now(UTC) + timedelta(days=40)))
    uses.note(101, ("a:list",))
    await uses.merge()

    assert stored_uses(url)[101]["a:list"] in (days_ago(0), days_ago(1))


async def test_uses_of_users_that_are_gone_are_left_out(url: str, database: Database) -> None:
    uses = noting(database, Clock(at("2026-02-12T10:00")))
    uses.note(101, ("a:list",))
    uses.note(999_999, ("a:list",))
    await uses.merge()

    assert [*stored_uses(url)] == [101]


async def test_what_the_database_does_not_take_waits_with_what_is_noted_meanwhile(
    url: str, database: Database
) -> None:
    clock = Clock(at("2026-02-12T10:00"))
    async with Database("postgresql://127.0.0.1:1/nowhere", timeout=0.5) as away:
        uses = noting(away, clock)
        uses.note(101, ("a:list", "a:read"))
        assert not await uses.merge()
        clock.moment += timedelta(days=1)
        uses.note(101, ("c:new", "a:read"))
        uses.note(102, ("a:list",))
        assert not await uses.merge()

    uses._database = database
    assert await uses.merge()
    old, new = date(2026, 2, 12), date(2026, 2, 13)
    assert stored_uses(url) == {101: {"a:list": old, "a:read": new, "c:new": new}, 102: {"a:list": new}}


async def test_users_without_room_are_missed_and_counted(
    url: str, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(permission_uses, "MOST_USERS", 1)
    uses = noting(database, Clock(at("2026-02-12T10:00")))
    uses.note(101, ("a:list",))
    uses.note(102, ("a:list",))
    uses.note(101, ("a:read",))
    await uses.merge()

    assert (uses.missed, [*stored_uses(url)]) == (1, [101])
    assert [sample.value for sample in uses.samples()] == [1]


def key_codes(url: str) -> dict[str, list[str] | None]:
    """Return the needed codes of keys, by their names."""
    with psycopg.connect(url) as connection:
        return dict(connection.execute("SELECT key_name, needed_codes FROM sys.api_key").fetchall())


@pytest.fixture
def keys(url: str) -> list[int]:
    """The ids of two keys whose use is recorded, and of one from before the recording."""
    with psycopg.connect(url) as connection:
        return [
            connection.execute(
                "INSERT INTO sys.api_key (user_id, key_name, hint, digest, created_by, needed_codes)"
                " VALUES (101, %s, '', sha256(%s), 101, %s) RETURNING id",
                (name, name.encode(), needed),
            ).fetchall()[0][0]
            for name, needed in (("first", []), ("second", ["b:list"]), ("old", None))
        ]


async def test_codes_of_keys_are_added_and_words_left_out(
    url: str, database: Database, keys: list[int]
) -> None:
    uses = noting(database, Clock(at("2026-02-12T10:00")))
    for key in (*keys, 999_999):
        uses.note(101, ("x:read",), key, ("a:list", "@login"))
    uses.note(101, ("x:read",), keys[1], ("c:list",))
    uses.note(101, ("x:read",), keys[0], ("a:list",))

    assert await uses.merge()
    assert key_codes(url) == {"first": ["a:list"], "second": ["a:list", "b:list", "c:list"], "old": None}
    assert [*stored_uses(url)[101]] == ["x:read"]


async def test_a_known_code_of_a_key_writes_nothing(url: str, database: Database, keys: list[int]) -> None:
    uses = noting(database, Clock(at("2026-02-12T10:00")))
    written = set()
    for _ in range(2):
        uses.note(101, ("a:list",), keys[0], ("a:list",))
        await uses.merge()
        with psycopg.connect(url) as connection:
            written |= set(connection.execute("SELECT id, xmin::text FROM sys.api_key").fetchall())

    assert len(written) == len(keys)


async def test_codes_of_keys_wait_while_the_database_is_away(
    url: str, database: Database, keys: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(permission_uses, "MOST_USERS", 2)
    async with Database("postgresql://127.0.0.1:1/nowhere", timeout=0.5) as away:
        uses = noting(away, Clock(at("2026-02-12T10:00")))
        for key in keys:
            uses.note(101, ("a:list",), key, ("a:list",))
        assert not await uses.merge()
        uses.note(101, ("a:list",), keys[0], ("c:list",))
    uses._database = database

    assert uses.missed == 1, "the third key found no room"
    assert await uses.merge()
    assert key_codes(url) == {"first": ["a:list", "c:list"], "second": ["a:list", "b:list"], "old": None}


async def test_many_workers_add_codes_of_the_same_keys(url: str, database: Database, keys: list[int]) -> None:
    workers = [noting(database, Clock(at("2026-02-12T10:00"))) for _ in range(12)]
    for number, worker in enumerate(workers):
        for key in keys[:2] if number % 2 else keys[1::-1]:
            worker.note(101, ("a:list",), key, (f"a:act{number:02}",))

    assert all(await asyncio.gather(*(worker.merge() for worker in workers)))
    codes = [f"a:act{number:02}" for number in range(12)]
    assert key_codes(url) == {"first": codes, "second": [*codes, "b:list"], "old": None}


async def test_another_map_of_permissions_merges_at_once(url: str, database: Database) -> None:
    remapped = asyncio.Event()

    async def wait() -> None:
        await remapped.wait()
        remapped.clear()

    uses = PermissionUses(database, Clock(at("2026-02-12T10:00")), wait)
    running = asyncio.create_task(uses.run())
    try:
        uses.note(101, ("a:list",))
        await asyncio.sleep(0.05)
        assert stored_uses(url) == {}
        remapped.set()
        async with asyncio.timeout(30):
            while not stored_uses(url):  # noqa: ASYNC110 - another process would see the same
                await asyncio.sleep(0.01)
    finally:
        running.cancel()


async def test_many_batches_at_once_are_merged_without_a_deadlock(url: str, database: Database) -> None:
    random = Random(7)
    expected: dict[int, dict[str, date]] = defaultdict(dict)
    workers = []
    for _ in range(12):
        day = date(2026, random.choice((1, 2)), random.randint(1, 28))
        worker = noting(database, Clock(at(f"{day}T10:00")))
        for _ in range(30):
            user, code = random.randint(101, 100 + USERS), f"c:{random.randint(1, 9)}"
            worker.note(user, (code,))
            expected[user][code] = max(day, expected[user].get(code, day))
        workers.append(worker)

    assert all(await asyncio.gather(*(worker.merge() for worker in workers)))
    assert stored_uses(url) == expected


async def test_recording_begins_with_the_first_merge_and_anew_after_an_older_worker(
    url: str, database: Database
) -> None:
    async def since() -> datetime | None:
        async with database.snapshot() as connection:
            return await recorded_since(connection)

    uses = noting(database, Clock(at("2026-02-12T10:00")))
    assert await since() is None
    await uses.merge()
    begun = await since()
    assert begun is not None
    await uses.merge()
    assert await since() == begun

    with psycopg.connect(url) as connection:
        connection.execute(
            "INSERT INTO sys.policy_worker (worker, revision, facts)"
            " VALUES ('old', 1, '{\"knows\": [\"windows\"]}')"
        )
    await uses.merge()
    anew = await since()
    assert anew is not None
    assert anew > begun


async def test_a_restore_begins_the_recording_anew(url: str, database: Database) -> None:
    store_uses(url, {})
    with psycopg.connect(url) as connection:
        connection.execute("UPDATE sys.timeline SET begin_time = now() - interval '3 days'")
    async with database.snapshot() as connection:
        since = await recorded_since(connection)

    assert since is not None
    assert since.date() == days_ago(3)


async def test_months_are_kept_for_two_years(url: str, database: Database) -> None:
    store_uses(url, {101: {"a:old": days_ago(31 * KEPT_MONTHS), "a:new": days_ago(700)}})

    assert await forget_uses(database) == "1 months of users deleted"
    async with database.snapshot() as connection:
        assert await of_user(connection, 101) == [LastUse(101, "a:new", days_ago(700))]
