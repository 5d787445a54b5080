"""The ends of certificates: what is looked at, and what is said of it."""

from __future__ import annotations

import asyncio
import secrets
from datetime import timedelta
from pathlib import Path

import pytest

from service.diagnosis.certificates import CertificateWatch, Endpoint, certificate_of, endpoints
from service.kernel.metrics import Health
from service.settings import Settings, load
from tests.support.tls import TlsServer, write_certificate

pytestmark = pytest.mark.anyio


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
