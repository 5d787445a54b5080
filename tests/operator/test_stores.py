"""Which database the start and the commands use."""

from __future__ import annotations

from service.operator.stores import past_pooler, reachable
from service.settings import load

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
