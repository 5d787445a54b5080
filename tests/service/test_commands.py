"""A command starts quickly, since it imports only what it runs."""

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from tests.service.conftest import variables_for
from tests.support.cases import with_each
from tests.support.running import PATIENCE, ROOT, command, environment, portcullis
from tests.support.waiting import eventually

# Writes the names of the packages that are imported once the command has ended.
PROBE = """
import json, sys
from service.__main__ import main
status = main(sys.argv[1:])
print()
names = {name.partition(".")[0] for name, module in sys.modules.items() if module is not None}
print(json.dumps([status, sorted(names)]))
"""
HEAVY = {"alembic", "casbin", "falcon", "joserfc", "obstore", "psycopg", "redis", "sqlalchemy", "uvicorn"}
NEVER_USED = {"pygments", "rich"}


def imported_by(folder: Path, *arguments: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-P", "-c", PROBE, *arguments],
        cwd=folder,
        env=environment(folder),
        capture_output=True,
        text=True,
        check=True,
    )
    status, names = json.loads(done.stdout.splitlines()[-1])
    assert status == 0
    return set(names)


def test_the_table_of_settings_needs_no_library_of_stores_requests_or_decisions(tmp_path: Path) -> None:
    assert imported_by(tmp_path, "settings") & (HEAVY | NEVER_USED) == set()


@pytest.mark.parametrize(
    "how", ["from service.__main__ import main; main(['policy', 'check'])", "import service.server.template"]
)
def test_what_the_service_leaves_out_for_itself_an_extension_can_import(tmp_path: Path, how: str) -> None:
    (tmp_path / "rich").mkdir()
    (tmp_path / "rich" / "__init__.py").write_text("name = 'stands in for the real one'")
    program = f"""
import sys
{how}
import structlog.dev
assert structlog.dev.rich is None and "rich" not in sys.modules, "structlog has imported it"
import rich
print(rich.name)
"""
    environ = environment(tmp_path) | {"PYTHONPATH": f"{tmp_path}:{ROOT}"}
    done = subprocess.run(
        [sys.executable, "-P", "-c", program],
        cwd=tmp_path,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    assert done.stdout.splitlines()[-1] == "stands in for the real one"


def test_a_check_of_the_policy_prints_the_digest_that_the_setting_may_name(tmp_path: Path) -> None:
    printed = portcullis(tmp_path, "policy", "check").output
    digest = printed.split()[-1].rstrip(".")
    named = portcullis(tmp_path, "policy", "check", PORTCULLIS_POLICY__OWN_DIGESTS=digest)
    other = portcullis(tmp_path, "serve", PORTCULLIS_POLICY__OWN_DIGESTS="0" * 64)

    assert named.status == 0
    assert other.status == 1
    assert f"{digest}, is not listed in policy.own_digests" in other.errors


@with_each("arguments", [["--help"], ["--version"], ["admin", "--help"], ["policy", "--help"]])
def test_help_is_given_without_any_library(tmp_path: Path, arguments: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-P", "-X", "importtime", "-m", "service", *arguments],
        cwd=tmp_path,
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        check=True,
    )
    assert "service.installation" in done.stderr
    assert not any(f" {name}" in done.stderr for name in (*HEAVY, *NEVER_USED, "msgspec", "structlog"))


@pytest.mark.parametrize("arguments", [["settings"], ["--help"], ["settings", "--bad"]])
def test_a_command_whose_reader_has_gone_ends_without_a_word(tmp_path: Path, arguments: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as gone:
        done = subprocess.run(
            command(*arguments),
            cwd=tmp_path,
            env=environment(tmp_path),
            stdout=gone,
            stderr=gone,
            check=False,
        )
    assert done.returncode == 128 + signal.SIGPIPE


def test_a_result_that_can_not_be_written_is_told_in_words(tmp_path: Path) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            command("settings"),
            cwd=tmp_path,
            env=environment(tmp_path),
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert (done.returncode, done.stderr) == (1, "portcullis: No space left on device\n")


def test_a_service_whose_log_is_on_a_full_disk_starts_and_serves(
    tmp_path: Path, published_database_url: str, redis_url: str
) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    variables = variables_for(published_database_url, redis_url)
    with Path("/dev/full").open("wb") as full:
        words = command("serve", "--data", str(tmp_path / "data"), "--port", str(port), "--workers", "1")
        started = subprocess.Popen(
            words,
            cwd=tmp_path,
            env=environment(tmp_path, **variables),
            stdout=full,
            stderr=full,
        )
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}") as client:

            def serves() -> bool:
                assert started.poll() is None, "it ended without a word"
                try:
                    return client.get("/health/live").status_code == 200
                except httpx.TransportError:
                    return False

            assert eventually(serves, patience=PATIENCE)
    finally:
        started.terminate()
        assert started.wait(PATIENCE) == 0


def test_a_file_that_can_not_be_written_is_named(tmp_path: Path) -> None:
    refused = portcullis(tmp_path, "policy", "matrix", "--policy", "shipped", "--output", "none/matrix.csv")
    assert (refused.status, refused.errors) == (1, "portcullis: none/matrix.csv: No such file or directory\n")


def test_a_fault_of_any_part_is_told_in_words(tmp_path: Path) -> None:
    (tmp_path / "empty.conf").touch()
    refused = portcullis(tmp_path, "policy", "check", PORTCULLIS_POLICY__MODEL=str(tmp_path / "empty.conf"))
    assert refused.status == 1
    assert refused.errors.startswith("portcullis: ")
    assert "Traceback" not in refused.errors
