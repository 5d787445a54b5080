"""Which database, secrets and routes the start and the commands use."""

import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from service.authz.publishing.shipped import POLICIES, configured, read_shipped
from service.features.embedded.stores import DataDirectory
from service.operator.known_routes import known_routes, routes_of_code
from service.operator.stores import past_pooler, reachable
from service.settings import Policy, Settings, load, local_previous, local_secret, rotate_local_secret
from service.web.requests.routes import RoutesError
from tests.support.demand_rows import add_demands

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
    (tmp_path / "postgres").mkdir()  # the database of the service
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


ROOT = Path(__file__).resolve().parents[2]


def test_the_shipped_lines_tell_the_routes_of_the_code() -> None:
    by_lines = {route.object: set(route.access) for route in known_routes(Settings(), read_shipped())}
    by_code = {route.object: set(route.access) for route in routes_of_code(read_shipped())}
    assert by_lines == by_code


def test_lines_of_the_operator_are_compared_with_the_code(tmp_path: Path) -> None:
    folder = tmp_path / POLICIES
    shutil.copytree(ROOT / POLICIES, folder)
    with (folder / "endpoints.csv").open("a") as lines:
        lines.write("p, endpoint, GET /api/gone, @login\n")
    add_demands(folder, "endpoint GET /api/gone", "@login")
    settings = Settings(policy=Policy(folder=folder))
    with pytest.raises(RoutesError, match="GET /api/gone"):
        known_routes(settings, configured(settings))
