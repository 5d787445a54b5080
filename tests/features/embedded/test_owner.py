"""What is left of the servers when their owner is killed, and who may own a directory."""

import json
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import psycopg
import pytest
import redis

from service.features.embedded.program import at_work_in
from service.features.embedded.stores import EmbeddedStores
from service.operator.errors import EmbeddedError
from tests.support.waiting import eventually

pytestmark = pytest.mark.stores  # they are started by programs of their own

ROOT = Path(__file__).parents[3]
NOBODY = 65534
AS_NOBODY = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--")
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")


ENVIRONMENT = {"PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path]), "TMPDIR": tempfile.gettempdir()}


@cache
def python_within_reach_of_nobody() -> str:
    """Return an interpreter that an ordinary user can run; a virtual environment's may be root's alone."""
    for python in (sys.executable, f"/usr/bin/python3.{sys.version_info.minor}"):
        trial = (
            *AS_NOBODY,
            python,
            "-c",
            "import os, sys, service.features.embedded.stores; open(sys.executable).close()",
        )
        if (
            Path(python).exists()
            and not subprocess.run(trial, env=os.environ | ENVIRONMENT, check=False).returncode
        ):
            return python
    pytest.skip("no interpreter here is within an ordinary user's reach")


@contextmanager
def owner(
    data: Path, *, path: str = os.environ["PATH"], python: str = sys.executable, prefix: tuple[str, ...] = ()
) -> Iterator[list[str]]:
    """Run a program that owns the stores of ``data``; yield their URLs; kill it with SIGKILL."""
    command = (*prefix, python, "-m", "tests.support.owner", str(data))
    environment = ENVIRONMENT | {"PATH": path}
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield json.loads(process.stdout.readline())
        finally:
            process.kill()


def servers_of(data: Path) -> list[int]:
    return at_work_in(data / "postgres", "postgres") + at_work_in(data / "valkey", "valkey-server")


def write(urls: list[str]) -> None:
    with psycopg.connect(urls[0]) as connection:
        connection.execute("CREATE TABLE kept (n int)")
        connection.execute("INSERT INTO kept VALUES (42)")
    with redis.Redis.from_url(urls[1]) as client:
        client.set("kept", 42)


def read(urls: list[str]) -> tuple[int, bytes]:
    with psycopg.connect(urls[0]) as connection, redis.Redis.from_url(urls[1]) as client:
        row = connection.execute("SELECT n FROM kept").fetchone()
        value = client.get("kept")
    assert row is not None
    assert isinstance(value, bytes)
    return row[0], value


def check_that_a_kill_leaves_only_data(data: Path, **how: str | tuple[str, ...]) -> None:
    with owner(data, **how) as urls:  # type: ignore[arg-type]  # two kinds of keyword
        write(urls)
        assert len(servers_of(data)) > 2
    assert eventually(lambda: servers_of(data) == [])
    with owner(data, **how) as urls:  # type: ignore[arg-type]  # as above
        assert read(urls) == (42, b"42")


def test_killing_the_owner_leaves_the_data_and_no_server(tmp_path: Path) -> None:
    check_that_a_kill_leaves_only_data(tmp_path / "data")


@as_root
def test_killing_an_owner_that_may_not_make_namespaces_leaves_the_data_and_no_server(tmp_path: Path) -> None:
    refusing = tmp_path / "bin"
    refusing.mkdir()
    (refusing / "unshare").symlink_to(shutil.which("false") or "/bin/false")
    check_that_a_kill_leaves_only_data(tmp_path / "data", path=f"{refusing}:{os.environ['PATH']}")
    assert (tmp_path / "data" / "postgres").stat().st_uid == NOBODY


@as_root
def test_killing_an_owner_who_is_an_ordinary_user_leaves_the_data_and_no_server() -> None:
    python = python_within_reach_of_nobody()
    with tempfile.TemporaryDirectory(prefix="pc-") as folder:
        os.chown(folder, NOBODY, NOBODY)
        check_that_a_kill_leaves_only_data(Path(folder, "data"), python=python, prefix=AS_NOBODY)
        assert Path(folder, "data").stat().st_uid == NOBODY


@as_root
def test_a_user_without_a_name_can_own_stores() -> None:
    nameless = 54321
    with pytest.raises(KeyError):
        pwd.getpwuid(nameless)
    prefix = ("setpriv", f"--reuid={nameless}", f"--regid={nameless}", "--clear-groups", "--")
    if subprocess.run([*prefix, "unshare", "-U", "true"], check=False).returncode:
        pytest.skip("ordinary users may not make namespaces here")
    python = python_within_reach_of_nobody()
    with tempfile.TemporaryDirectory(prefix="pc-") as folder:
        os.chown(folder, nameless, nameless)
        check_that_a_kill_leaves_only_data(Path(folder, "data"), python=python, prefix=prefix)


def test_a_second_owner_is_refused_and_told_who_the_first_is(stores: EmbeddedStores) -> None:
    with pytest.raises(EmbeddedError, match=rf"in use by process {os.getpid()}\b.*--data"):
        EmbeddedStores(stores.data)


def test_no_secret_of_the_owner_reaches_the_servers(
    monkeypatch: pytest.MonkeyPatch, own_stores: EmbeddedStores
) -> None:
    monkeypatch.setenv("JWT_SECRET", "only-for-the-owner")
    for server in (own_stores.postgres, own_stores.valkey):
        server.stop()
        server.start()
    servers = servers_of(own_stores.data)
    assert len(servers) > 2
    for pid in servers:
        assert b"only-for-the-owner" not in Path(f"/proc/{pid}/environ").read_bytes()
