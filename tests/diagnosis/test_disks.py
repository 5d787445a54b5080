"""How much room file systems have."""

from __future__ import annotations

import secrets
from pathlib import Path

import pytest

from service.diagnosis.disks import Disk, DiskWatch, disk_at, places
from service.settings import load

GIB = 1024**3
MIB = 1024**2


@pytest.mark.parametrize(
    ("disk", "room"),
    [
        (Disk(500 * GIB, 1000 * GIB), "enough"),
        (Disk(2 * GIB, 1000 * GIB), "enough"),
        (Disk(GIB - 1, 1000 * GIB), "low"),
        (Disk(63 * MIB, 1000 * GIB), "none"),
        (Disk(63 * MIB, 400 * MIB), "enough"),
        (Disk(30 * MIB, 400 * MIB), "low"),
        (Disk(3 * MIB, 400 * MIB), "none"),
        (Disk(500 * GIB, 1000 * GIB, files=0.005), "low"),
        (Disk(500 * GIB, 1000 * GIB, files=0), "none"),
        (Disk(500 * GIB, 1000 * GIB, read_only=True), "none"),
    ],
)
def test_room_is_judged_by_share_on_small_disks_and_by_bytes_on_large_ones(disk: Disk, room: str) -> None:
    assert disk.room == room


def test_a_place_that_does_not_exist_yet_has_the_room_of_the_folder_above(tmp_path: Path) -> None:
    assert disk_at(tmp_path / "not" / "yet").size == disk_at(tmp_path).size > 0


def test_only_places_that_are_written_are_looked_at(tmp_path: Path) -> None:
    own = {
        "PORTCULLIS_CONFIG": "",
        "PORTCULLIS_SERVER__DATA": str(tmp_path / "data"),
        "JWT_SECRET": secrets.token_urlsafe(64),
    }
    stores = {"DATABASE_URL": "postgresql://db/name", "REDIS_URL": "redis://store"}
    bucket = {"OBJSTORE_BUCKET": "files", "OBJSTORE_ACCESS_KEY": "k", "OBJSTORE_SECRET_KEY": "s"}
    decisions = {"PORTCULLIS_POLICY__DECISION_LOG": str(tmp_path / "decisions.jsonl")}

    def named(*variables: dict[str, str]) -> set[str]:
        merged = {name: value for environ in (own, *variables) for name, value in environ.items()}
        return set(places(load(merged))) - {"log"}

    assert named() == {"data"}
    assert named(stores, bucket) == set()
    assert named(stores, bucket, decisions) == {"decisions"}


@pytest.mark.anyio
async def test_what_has_no_room_is_named_with_its_free_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch = DiskWatch(load({"PORTCULLIS_CONFIG": "", "PORTCULLIS_SERVER__DATA": str(tmp_path)}))
    for disk, state in [
        (Disk(1, GIB), "read_only"),
        (Disk(GIB // 20, GIB), "degraded"),
        (Disk(GIB, GIB), "up"),
    ]:
        monkeypatch.setattr("service.diagnosis.disks.disk_at", lambda _path, disk=disk: disk)
        health = await watch.health()
        assert health.state == state
        assert health.details.get("data") == (None if state == "up" else disk.free)
        assert ("data", disk.free) in list(watch.free())
