"""The embedded stores as their users see them, in directories of all kinds."""

from pathlib import Path

import psycopg
import pytest
import redis
import sqlalchemy

from service.features.embedded.stores import EmbeddedStores
from service.operator.errors import EmbeddedError


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


def test_an_access_decision_is_never_evicted_from_the_key_value_store(redis_url: str) -> None:
    with redis.Redis.from_url(redis_url) as client:
        assert client.config_get("maxmemory-policy") == {"maxmemory-policy": "noeviction"}


def served_in(directory: Path) -> Path:
    """Run the stores of ``directory``, use them, and return the directory of their sockets."""
    with EmbeddedStores(directory, durable=False) as stores:
        engine = sqlalchemy.create_engine(
            stores.database_url.replace("postgresql:", "postgresql+psycopg:"), poolclass=sqlalchemy.NullPool
        )
        with engine.connect() as connection:
            assert connection.scalar(sqlalchemy.text("SELECT current_database()")) == "portcullis"
        with (
            psycopg.connect(stores.database_url) as session,
            redis.Redis.from_url(stores.redis_url) as client,
        ):
            assert session.info.dbname == "portcullis"
            assert client.ping()
        sockets = (directory / "sockets").resolve()
        assert sockets.stat().st_mode & 0o777 == 0o700
    return sockets


def test_any_directory_will_do_even_one_with_a_half_made_cluster(tmp_path: Path) -> None:
    difficult = tmp_path / "a,b \"c\" 'd' %20 ü?#&"
    half = difficult / "postgres.new"
    half.mkdir(parents=True)
    (half / "PG_VERSION").write_text("18\n")
    served_in(difficult)
    assert not half.exists()

    long = tmp_path / "long" / ("x" * 120)
    long.parent.mkdir()
    difficult.rename(long)
    assert not served_in(long).exists()


def test_either_store_can_be_left_out(tmp_path: Path) -> None:
    with EmbeddedStores(tmp_path, durable=False, with_postgres=False) as stores:
        assert not (tmp_path / "postgres").exists()
        assert stores.valkey.pid is not None


def test_a_directory_that_can_not_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(EmbeddedError, match="file/data can't be used: Not a directory"):
        EmbeddedStores(tmp_path / "file" / "data")


def test_a_refused_start_lets_go_of_the_directory(tmp_path: Path) -> None:
    (tmp_path / "logs").touch()
    with pytest.raises(FileExistsError):
        EmbeddedStores(tmp_path)
    (tmp_path / "logs").unlink()
    EmbeddedStores(tmp_path).close()
