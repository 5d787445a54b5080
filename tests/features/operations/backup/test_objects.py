"""Objects of other restore epochs, and of files that a backup copies, are left alone."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from service.features.embedded.stores import EmbeddedStores
from service.features.files import store as files
from service.features.files.orphan_cleanup import OrphanCleanup
from service.features.files.uploads import Uploads
from service.features.operations import store_restores
from service.features.operations.backup.archive import ArchiveReader
from service.files.object_store import ObjectStore, object_store
from service.records.database.transactions import Database, engine
from service.settings import Objstore, Upload, load
from tests.features.operations.backup.conftest import SECRET
from tests.files.forms import download, uploaded
from tests.support.databases import database
from tests.support.inside import Inside, inside, inside_published
from tests.support.running import Ended, portcullis
from tests.support.s3 import S3Server, s3_server
from tests.support.seeded import ADMINISTRATOR, ADMINISTRATOR_PASSWORD

LOGIN = {"userName": ADMINISTRATOR, "password": ADMINISTRATOR_PASSWORD}
PASSWORD = "Cardamom-7-lantern-oak"
BEFORE, AFTER, ORPHAN = b"before the backup\n", b"after the backup\n", b"orphan\n"


@dataclass
class Both:
    """The database of the original, the restored service, and the bucket of both."""

    first: str
    new: Inside = field(repr=False)
    output: Ended
    s3: S3Server
    objects: ObjectStore
    prefix: str
    files: dict[bytes, int]
    tokens: dict[str, Any]

    def keys(self, *, of_first: bool) -> set[str]:
        """Return the keys of the objects of the original, or those of the restored place."""
        stored = self.s3.keys()
        return {key for key in stored if key.startswith(f"{self.prefix}/") is of_first}


async def make_orphan(service: Inside) -> None:
    """Upload a file and remove its row, which leaves its object."""
    number = (await uploaded(service, "orphan.txt", ORPHAN))["id"]
    with engine(service.database_url).begin() as connection:
        connection.execute(text("DELETE FROM sys.file WHERE id = :id"), {"id": number})


async def cleanup(url: str, objects: ObjectStore) -> int | None:
    async with Database(url, pool_size=2) as opened:
        return await OrphanCleanup(opened, objects).once()


@pytest.fixture(scope="module")
async def both(
    stores: EmbeddedStores,
    published_template: str,
    module_redis_url: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[Both]:
    folder = tmp_path_factory.mktemp("bucket")
    with (
        s3_server() as s3,
        database(stores, published_template) as first,
        database(stores, "template1") as second,
    ):
        own = s3.variables() | {"PORTCULLIS_SERVER__DATA": str(folder / "data"), "JWT_SECRET": SECRET}
        settings = load({"PORTCULLIS_CONFIG": "", "DATABASE_URL": first, "REDIS_URL": "redis://x"} | own)

        async def command(url: str, store: str, *arguments: str) -> Ended:
            variables = own | {"DATABASE_URL": url, "REDIS_URL": store, "PORTCULLIS_CONFIG": ""}
            return await asyncio.to_thread(portcullis, folder, *arguments, **variables)

        archive = folder / "backup.tar"
        async with inside_published(first, module_redis_url, **own) as old:
            files = {BEFORE: (await uploaded(old, "before.txt", BEFORE))["id"]}
            await make_orphan(old)
            order = {"userName": "spared", "nickName": "S", "password": PASSWORD}
            spared = (await old.data("POST", "/api/user", order))["id"]
            done = await command(first, module_redis_url, "backup", str(archive))
            assert done.status == 0, done.errors
            files[AFTER] = (await uploaded(old, "after.txt", AFTER))["id"]
            await old.data("POST", f"/api/online/{spared}/ban", {"reason": "after"})
            tokens = await old.data("POST", "/api/auth/login", LOGIN)
        with ArchiveReader(archive) as reader:
            prefix = reader.manifest.files.prefix
        restored = await command(second, "redis://127.0.0.1:1", "restore", str(archive))
        assert restored.status == 0, restored.errors
        async with inside(second, module_redis_url, **own) as new:
            objects = object_store(settings.objstore, folder)
            yield Both(first, new, restored, s3, objects, prefix, files, tokens)


async def test_a_restore_without_the_session_store_says_that_it_ended_no_sessions(both: Both) -> None:
    assert "unknown: the session store was unavailable" in both.output.output


async def test_tokens_of_before_are_refused_all_the_same(both: Both) -> None:
    refused = await both.new.ask("GET", "/api/user/info", token=both.tokens["accessToken"])
    assert (refused.status, refused.json["code"]) == (401, "refresh_required")
    refused = await both.new.ask("POST", "/api/auth/refresh", {"refreshToken": both.tokens["refreshToken"]})
    assert (refused.status, refused.json["code"]) == (401, "refresh_rejected")


async def test_a_ban_that_came_after_the_backup_is_not_in_force(both: Both) -> None:
    token = await both.new.log_in("spared", PASSWORD)
    assert (await both.new.ask("GET", "/api/user/info", token=token)).status == 200


async def test_restored_files_are_objects_of_their_own_in_the_bucket(both: Both) -> None:
    assert (await download(both.new, both.files[BEFORE])).body == BEFORE
    assert (await download(both.new, both.files[AFTER])).status == 404
    assert len(both.keys(of_first=False)) == 1


async def test_no_sweep_touches_the_objects_of_the_other_timeline(both: Both) -> None:
    await make_orphan(both.new)
    before, restored = both.keys(of_first=True), both.keys(of_first=False)
    assert (len(before), len(restored)) == (3, 2)

    assert await cleanup(both.first, both.objects) == 1
    assert both.keys(of_first=False) == restored
    before = both.keys(of_first=True)
    assert len(before) == 2

    assert await cleanup(both.new.database_url, both.objects) == 1
    await both.new.ask("DELETE", f"/api/file/{both.files[BEFORE]}")
    assert both.keys(of_first=True) == before
    assert both.keys(of_first=False) == set()


HELD = text(
    "INSERT INTO sys.file (key, name, size, sha256, content_type, state)"
    " SELECT :prefix || '/held', 'held.txt', 1, repeat('0', 64), 'text/plain', 'discarded' RETURNING id"
)


async def objects_with(folder: Path, *keys: str) -> ObjectStore:
    objects = object_store(Objstore(), folder)
    for key in keys:
        (folder / key).parent.mkdir(parents=True, exist_ok=True)
        (folder / key).write_bytes(b"x")
    return objects


def discarded(url: str, prefix: str) -> int:
    with engine(url).begin() as connection:
        number: int = connection.execute(HELD, {"prefix": prefix}).scalar_one()
    return number


def own_prefix(url: str) -> str:
    with engine(url).connect() as connection:
        prefix: str = connection.execute(text("SELECT prefix FROM sys.object_space")).scalar_one()
    return prefix


async def test_neither_a_sweep_nor_a_deletion_removes_objects_until_the_backup_is_over(
    seeded_database_url: str, tmp_path: Path
) -> None:
    prefix = own_prefix(seeded_database_url)
    held = f"{prefix}/held"
    objects = await objects_with(tmp_path, held, f"{prefix}/orphan")
    number, database = discarded(seeded_database_url, prefix), Database(seeded_database_url)
    cleanup, uploads = OrphanCleanup(database, objects), Uploads(database, objects, Upload())

    async with database.transaction() as connection:
        await files.keep_objects(connection)
        assert await cleanup.once() is None
        await uploads.clear(number, held)
        assert (tmp_path / held).exists()

    assert await cleanup.once() == 2
    assert not (tmp_path / held).exists()
    await database.close()


async def test_objects_under_the_prefix_of_another_timeline_are_never_deleted(
    seeded_database_url: str, tmp_path: Path
) -> None:
    former = "0" * 32
    objects = await objects_with(tmp_path, f"{former}/held", f"{former}/orphan")
    number, database = discarded(seeded_database_url, former), Database(seeded_database_url)
    await OrphanCleanup(database, objects).once()
    assert (tmp_path / former / "held").exists()
    assert (tmp_path / former / "orphan").exists()
    async with database.transaction() as connection:
        gone = await connection.execute(text("SELECT count(*) FROM sys.file WHERE id = :id"), {"id": number})
        assert gone.scalar_one() == 0

    number = discarded(seeded_database_url, former)
    await Uploads(database, objects, Upload()).clear(number, f"{former}/held")
    assert (tmp_path / former / "held").exists()
    await database.close()


async def test_a_restore_moves_all_stored_files_and_leaves_them_when_their_content_is_not_there(
    seeded_database_url: str,
) -> None:
    stored = text(
        "INSERT INTO sys.file (key, name, size, sha256, content_type)"
        " SELECT prefix || '/one', 'x', 1, repeat('0', 64), 'text/plain' FROM sys.object_space"
        " UNION ALL SELECT repeat('0', 32) || '/two', 'x', 1, repeat('0', 64), 'text/plain'"
    )
    keys = text("SELECT key FROM sys.file ORDER BY id")
    async with Database(seeded_database_url) as database, database.transaction() as connection:
        await connection.execute(stored)
        before = (await connection.execute(keys)).scalars().all()
        await store_restores.begin_objects(connection, "a" * 32, moved=False)
        assert (await connection.execute(keys)).scalars().all() == before
        await store_restores.begin_objects(connection, "b" * 32, moved=True)
        assert (await connection.execute(keys)).scalars().all() == ["b" * 32 + "/one", "b" * 32 + "/two"]
        space = await connection.execute(text("SELECT prefix FROM sys.object_space"))
        assert space.scalar_one() == "b" * 32
