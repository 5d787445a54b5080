"""The embedded stores as their users see them."""

from __future__ import annotations

import psycopg
import redis


def test_an_empty_database_belongs_to_an_ordinary_role(empty_database_url: str) -> None:
    with psycopg.connect(empty_database_url) as connection:
        row = connection.execute(
            "SELECT rolsuper, rolname FROM pg_roles WHERE rolname = current_user"
        ).fetchone()
        connection.execute("CREATE SCHEMA sys")
    assert row == (False, "portcullis")


def test_the_key_value_store_is_empty_for_each_test(redis_url: str) -> None:
    with redis.Redis.from_url(redis_url) as client:
        assert client.dbsize() == 0
        assert client.config_get("maxmemory-policy") == {"maxmemory-policy": "noeviction"}
