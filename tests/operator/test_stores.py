"""Which database and which secrets the start and the commands use."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from service.embedded.directory import DataDirectory
from service.operator.stores import past_pooler, reachable
from service.settings import load, local_previous, local_secret, rotate_local_secret

POOLER, SERVER = "postgresql://pooler:6432/x", "postgresql://server1,server2/x"
GIVEN = {
    "DATABASE_URL": POOLER,
    "REDIS_URL": "redis://store",
    "JWT_SECRET": "Zq8rT1xV5nB3kM7wP9sD2fG6hJ4lC0yX",
}


def test_commands_go_past_a_pooler_if_there_is_one() -> None:
    with reachable(load(GIVEN)) as settings:
        assert settings.database.url == POOLER
    with reachable(load(GIVEN | {"DATABASE_DIRECT_URL": SERVER})) as settings:
        assert settings.database.url == SERVER
    assert past_pooler(load(GIVEN | {"DATABASE_DIRECT_URL": SERVER})).database.url == SERVER


def test_commands_beside_a_running_embedded_service_have_its_local_secrets(tmp_path: Path) -> None:
    given = {"PORTCULLIS_SERVER__DATA": str(tmp_path), "PORTCULLIS_CONFIG": ""}
    local_secret(tmp_path, 64)
    rotate_local_secret(tmp_path, datetime.now(UTC) + timedelta(hours=1))
    runs = DataDirectory(tmp_path)  # as the service holds it
    try:
        with reachable(load(given)) as settings:
            assert settings.database.url
            assert settings.redis.url
            assert settings.auth.jwt_secret == local_secret(tmp_path, 64)
            kept = (settings.auth.jwt_previous_secret, settings.auth.jwt_previous_until)
            assert kept == local_previous(tmp_path)
    finally:
        runs.release()
