"""What is left behind is collected; what is under way, or somebody else's, is left alone."""

import asyncio
import secrets
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest

from service.errors import Unavailable
from service.features.files import orphan_cleanup
from service.features.files.orphan_cleanup import OrphanCleanup
from service.features.files.uploads import Offer, Uploads
from service.files.object_store import PART, ObjectStore, object_store
from service.kernel.media_types import HEAD
from service.records.database.transactions import Database
from service.settings import Objstore, Upload
from tests.files.forms import PNG
from tests.files.test_object_store import settings_of
from tests.support.s3 import S3Server


@dataclass(frozen=True)
class Place:
    """A database and an object store, and those who work on both."""

    url: str
    database: Database
    objects: ObjectStore

    @property
    def uploads(self) -> Uploads:
        return Uploads(self.database, self.objects, Upload())

    @property
    def prefix(self) -> str:
        return str(self.ask("SELECT prefix FROM sys.object_space")[0])

    def ask(self, statement: str) -> list[str]:
        with psycopg.connect(self.url) as connection:
            done = connection.execute(statement)
            return [row[0] for row in done.fetchall()] if done.description else []

    def add(self, name: str, state: str, lease: str = "NULL") -> str:
        """Write a row as an upload does; return its key."""
        key = f"{self.prefix}/{secrets.token_hex(16)}"
        self.ask(
            "INSERT INTO sys.file (key, name, size, sha256, content_type, owner_id, state, lease_time)"
            f" VALUES ('{key}', '{name}', 7, repeat('0', 64), 'text/plain', 1, '{state}', {lease})"
        )
        return key

    async def put(self, key: str) -> str:
        await self.objects.put(key, pieces(b"content"))
        return key

    async def keys(self) -> set[str]:
        return {key async for some in self.objects.keys(self.prefix) for key in some}

    async def cleanup(self) -> int | None:
        return await OrphanCleanup(
            self.database,
            self.objects,
        ).once()


async def pieces(content: bytes) -> AsyncIterator[bytes]:
    yield content


@pytest.fixture(params=["local", "s3"])
def objects(request: pytest.FixtureRequest, s3: S3Server, tmp_path: Path) -> ObjectStore:
    return object_store(settings_of(s3) if request.param == "s3" else Objstore(), tmp_path / "files")


@pytest.fixture
async def place(fresh_url: str, objects: ObjectStore) -> AsyncIterator[Place]:
    async with Database(fresh_url) as database:
        made = Place(fresh_url, database, objects)
        # The template's prefix is in every copy, and the S3 server is everybody's.
        made.ask(f"UPDATE sys.object_space SET prefix = '{secrets.token_hex(16)}'")
        yield made


async def test_what_was_left_behind_goes_and_what_is_somebodys_stays(place: Place) -> None:
    stored = await place.put(place.add("stored.txt", "stored"))
    under_way = await place.put(place.add("under way.txt", "pending", "now() + interval '1 minute'"))
    await place.put(place.add("given up.txt", "pending", "now() - interval '1 second'"))
    place.add("given up before its object.txt", "pending", "now() - interval '1 second'")
    await place.put(place.add("discarded.txt", "discarded"))
    place.add("discarded with its object.txt", "discarded")
    for _ in range(3):
        await place.put(f"{place.prefix}/{secrets.token_hex(16)}")
    elsewhere = await place.put(f"{secrets.token_hex(16)}/{secrets.token_hex(16)}")

    assert await place.cleanup() == 7

    assert await place.keys() == {stored, under_way}
    assert place.ask("SELECT name FROM sys.file ORDER BY id") == ["stored.txt", "under way.txt"]
    assert [key async for some in place.objects.keys(elsewhere.partition("/")[0]) for key in some] == [
        elsewhere
    ]


async def test_a_lease_from_while_the_clock_was_ahead_ends_when_one_from_now_does(place: Place) -> None:
    place.add("given up.txt", "pending", "now() + interval '1 hour'")
    await place.cleanup()

    left = place.ask("SELECT extract(epoch FROM lease_time - now()) FROM sys.file")
    assert 590 < float(left[0]) <= 600


async def test_the_connections_that_a_job_has_are_enough(place: Place) -> None:
    await place.put(place.add("discarded.txt", "discarded"))
    async with Database(place.url, pool_size=3) as three, three.transaction():  # the runner holds one
        assert await OrphanCleanup(three, place.objects).once() == 1


async def test_a_sweep_that_is_ended_keeps_what_it_has_done_and_holds_no_row_meanwhile(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(orphan_cleanup, "_AT_ONCE", 20)
    for _ in range(41):
        place.add("discarded.txt", "discarded")
    stuck, deletions = asyncio.Event(), iter(range(1, 42))

    async def delete(_key: str) -> None:
        if next(deletions) == 25:
            stuck.set()
            await asyncio.Event().wait()

    monkeypatch.setattr(place.objects, "delete", delete)
    sweep = asyncio.create_task(place.cleanup())
    await stuck.wait()
    place.ask("SET lock_timeout = '1s'; UPDATE sys.file SET owner_id = NULL")
    sweep.cancel()
    with pytest.raises(asyncio.CancelledError):
        await sweep

    assert len(place.ask("SELECT id FROM sys.file")) == 21


async def test_as_many_as_there_are_go_in_one_sweep(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(orphan_cleanup, "_AT_ONCE", 20)
    place.ask(
        "INSERT INTO sys.file (key, name, size, content_type, state)"
        f" SELECT '{place.prefix}/' || n, 'x', 1, 'text/plain', 'discarded' FROM generate_series(1, 41) n"
    )

    assert await place.cleanup() == 41
    assert place.ask("SELECT id FROM sys.file") == []


async def test_one_sweep_at_a_time(place: Place) -> None:
    await place.put(f"{place.prefix}/{secrets.token_hex(16)}")

    swept = await asyncio.gather(*(place.cleanup() for _ in range(4)))

    # One that begins after another has ended finds nothing.
    assert [count for count in swept if count] == [1]


async def test_an_upload_under_way_is_swept_around_and_then_there(place: Place) -> None:
    half_way, go_on = asyncio.Event(), asyncio.Event()

    async def content() -> AsyncGenerator[bytes, None]:
        yield PNG + bytes(HEAD)
        yield bytes(PART + 1 - HEAD)
        half_way.set()
        await go_on.wait()
        yield bytes(PART)

    running = asyncio.create_task(place.uploads.receive(Offer(1, "a.png", content())))
    await half_way.wait()
    assert await place.cleanup() == 0
    go_on.set()
    stored = await running

    assert await place.keys() == {stored.key}
    parts = [part async for part in place.objects.read(stored.key, stored.size, 0, stored.size)]
    assert sum(map(len, parts)) == stored.size == len(PNG) + 2 * PART + 1


async def test_an_upload_that_lost_its_lease_is_refused_and_leaves_nothing(place: Place) -> None:
    half_way, go_on = asyncio.Event(), asyncio.Event()

    async def content() -> AsyncGenerator[bytes, None]:
        yield PNG + bytes(HEAD)
        yield PNG
        half_way.set()
        await go_on.wait()
        yield PNG

    running = asyncio.create_task(place.uploads.receive(Offer(1, "a.png", content())))
    await half_way.wait()
    place.ask("UPDATE sys.file SET lease_time = now() - interval '1 second'")
    assert await place.cleanup() == 1
    go_on.set()

    with pytest.raises(Unavailable):
        await running
    async with asyncio.timeout(20):
        while await place.keys():  # noqa: ASYNC110 - cleared once the upload is refused
            await asyncio.sleep(0.02)
    assert place.ask("SELECT id FROM sys.file") == []


async def test_a_sweep_of_a_store_that_is_down_does_its_work_once_it_is_back(
    fresh_url: str, own_s3: S3Server
) -> None:
    async with Database(fresh_url) as database:
        place = Place(fresh_url, database, object_store(settings_of(own_s3, 1.0), Path()))
        await place.put(place.add("discarded.txt", "discarded"))

        own_s3.stop()
        with pytest.raises(Unavailable):
            await place.cleanup()
        own_s3.start()

        assert await place.cleanup() == 1
        assert own_s3.keys() == []
