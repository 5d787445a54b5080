"""While a backup copies files, nothing deletes their objects."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import text

from service.files.object_store import ObjectStore, object_store
from service.files.orphan_cleanup import OrphanCleanup
from service.files.uploads import Uploads
from service.records import orphans, recovery_points
from service.records.database.transactions import Database, engine
from service.settings import Objstore, Upload

pytestmark = pytest.mark.anyio

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
        await orphans.keep_objects(connection)
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
    database = Database(seeded_database_url)
    async with database.transaction() as connection:
        await connection.execute(stored)
        before = (await connection.execute(keys)).scalars().all()
        await recovery_points.begin_objects(connection, "a" * 32, moved=False)
        assert (await connection.execute(keys)).scalars().all() == before
        await recovery_points.begin_objects(connection, "b" * 32, moved=True)
        assert (await connection.execute(keys)).scalars().all() == ["b" * 32 + "/one", "b" * 32 + "/two"]
        space = await connection.execute(text("SELECT prefix FROM sys.object_space"))
        assert space.scalar_one() == "b" * 32
    await database.close()
