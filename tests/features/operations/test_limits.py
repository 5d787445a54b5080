"""Certificates and disks: what is looked at, and what is said of it."""

import asyncio
import secrets
from datetime import timedelta
from pathlib import Path

import pytest

from service.features.operations.certificates import CertificateWatch, Endpoint, certificate_of, endpoints
from service.features.operations.disks import Disk, DiskWatch, disk_at, places
from service.kernel.metrics import Health
from service.settings import Settings, load
from tests.support.cases import with_each
from tests.support.tls import TlsServer, write_certificate


def settings_of(**variables: str) -> Settings:
    return load({"PORTCULLIS_CONFIG": "", "JWT_SECRET": secrets.token_urlsafe(64), **variables})


def test_every_server_of_the_settings_that_may_speak_tls_is_looked_at() -> None:
    settings = settings_of(
        PORTCULLIS_SERVER__PUBLIC_URL="https://admin.example.com",
        DATABASE_URL="postgresql://one:secret@db1:5432,db2:5433/name",
        REDIS_URL="rediss://:secret@store:7000/0",
        OBJSTORE_ENDPOINT="https://s3.example.com",
        OBJSTORE_BUCKET="files",
    )

    assert endpoints(settings) == [
        Endpoint("public", "admin.example.com", 443),
        Endpoint("database", "db1", 5432),
        Endpoint("database", "db2", 5433),
        Endpoint("sessions", "store", 7000),
        Endpoint("files", "s3.example.com", 443),
    ]


@pytest.mark.parametrize(
    ("database", "store"),
    [
        ("postgresql://db/name?sslmode=disable", "redis://store"),
        ("postgresql:///name?host=/run/postgresql", "unix:///run/valkey"),
    ],
)
def test_servers_that_speak_no_tls_are_left_alone(database: str, store: str) -> None:
    assert endpoints(settings_of(DATABASE_URL=database, REDIS_URL=store)) == []


def test_the_sentinels_of_a_store_with_tls_are_looked_at() -> None:
    listed = endpoints(settings_of(DATABASE_URL="", REDIS_URL="rediss+sentinel://one:1,two/main"))
    assert listed == [Endpoint("sessions", "one", 1), Endpoint("sessions", "two", 26379)]


@pytest.mark.parametrize(("answer", "seen"), [(b"S", True), (b"N", False)])
def test_postgresql_is_asked_for_tls_first(tmp_path: Path, answer: bytes, seen: bool) -> None:
    path = write_certificate(tmp_path / "own.pem", ends_in=timedelta(days=90))
    with TlsServer(path, answer) as server:
        certificate = certificate_of(Endpoint("database", "127.0.0.1", server.port))
    assert (certificate is not None) is seen


async def watched(watch: CertificateWatch) -> Health:
    for _ in range(2000):
        if watch.certificates:
            return await watch.health()
        await watch.health()
        await asyncio.sleep(0.01)
    raise AssertionError


@pytest.mark.parametrize(
    ("begins", "ends", "state"),
    [
        (-80, 30, "up"),
        (-80, 8, "up"),
        (-80, 6, "degraded"),
        (-4, 2, "up"),
        (-40, 2, "degraded"),
        (-9, -1, "down"),
        (1, 30, "down"),
    ],
    ids=[
        *("in time", "in a week", "near its end", "of six days", "of six weeks", "expired", "not yet valid"),
    ],
)
async def test_a_certificate_near_its_end_degrades_and_one_that_is_not_valid_is_down(
    tmp_path: Path, begins: int, ends: int, state: str
) -> None:
    path = write_certificate(
        tmp_path / "own.pem", ends_in=timedelta(days=ends, hours=1), begins_in=timedelta(days=begins)
    )
    with TlsServer(path) as server:
        url = f"https://localhost:{server.port}"
        watch = CertificateWatch(settings_of(PORTCULLIS_SERVER__PUBLIC_URL=url), every=0)
        health = await watched(watch)
    assert (health.state, list(watch.first_ends())) == (state, ["public"])
    assert list(health.details) == [f"public localhost:{server.port}"]


async def test_a_server_out_of_reach_is_no_matter_of_its_certificate() -> None:
    watch = CertificateWatch(settings_of(PORTCULLIS_SERVER__PUBLIC_URL="https://localhost:1"), every=0)
    for _ in range(5):
        assert (await watch.health()).state == "up"
        await asyncio.sleep(0.01)


GIB = 1024**3
MIB = 1024**2


@with_each(
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


async def test_what_has_no_room_is_named_with_its_free_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch = DiskWatch(load({"PORTCULLIS_CONFIG": "", "PORTCULLIS_SERVER__DATA": str(tmp_path)}))
    for disk, state in [
        (Disk(1, GIB), "read_only"),
        (Disk(GIB // 20, GIB), "degraded"),
        (Disk(GIB, GIB), "up"),
    ]:
        monkeypatch.setattr("service.features.operations.disks.disk_at", lambda _path, disk=disk: disk)
        health = await watch.health()
        assert health.state == state
        assert health.details.get("data") == (None if state == "up" else disk.free)
        assert ("data", disk.free) in list(watch.free())
