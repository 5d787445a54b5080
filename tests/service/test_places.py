"""Places that the service is started in: what it can't use it does without, or says so."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from service.embedded import EmbeddedStores
from tests.service.conftest import variables_for
from tests.support.databases import database
from tests.support.running import RunningAnew, command
from tests.support.store_numbers import session_store
from tests.support.waiting import eventually

NAMESPACE = ("unshare", "--user", "--map-current-user", "--keep-caps", "--mount")
READ_ONLY = 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@"'


class Confined(RunningAnew):
    """A service for which ``/dev/shm`` is mounted read-only."""

    def _start(self, folder: Path, words: tuple[str, ...], environ: dict[str, str]) -> None:
        confined = [*NAMESPACE, "sh", "-c", READ_ONLY, "/dev/shm", *command(*words)]
        with self._out.open("wb") as out, self._err.open("wb") as err:
            self.process = subprocess.Popen(confined, cwd=folder, env=environ, stdout=out, stderr=err)


class Unread(RunningAnew):
    """A service whose log is a pipe; nobody reads it once ``ignore`` was called."""

    def _start(self, folder: Path, words: tuple[str, ...], environ: dict[str, str]) -> None:
        self._reader, writer = os.pipe()
        with os.fdopen(writer, "wb") as out, self._err.open("wb") as err:
            self.process = subprocess.Popen(command(*words), cwd=folder, env=environ, stdout=out, stderr=err)

    def read_until(self, part: bytes) -> None:
        """Read the log until ``part`` was in it."""
        text = b""
        while part not in text:
            piece = os.read(self._reader, 65_536)
            assert piece, self.errors
            text += piece

    def ignore(self) -> None:
        """Close the pipe."""
        os.close(self._reader)


@pytest.fixture
def elsewhere() -> Iterator[Path]:
    """A folder that is not in /dev/shm, where those of tests usually are."""
    with tempfile.TemporaryDirectory(prefix="pc-", dir="/tmp") as folder:
        yield Path(folder)


def test_a_service_starts_where_shared_memory_can_not_be_written(
    stores: EmbeddedStores, seeded_template: str, elsewhere: Path
) -> None:
    if subprocess.run([*NAMESPACE, "true"], check=False, capture_output=True).returncode:
        pytest.skip("this machine allows no mount namespaces")
    with database(stores, seeded_template) as url, session_store(stores) as redis_url:
        variables = variables_for(url, redis_url) | {"TMPDIR": str(elsewhere)}
        service = Confined(elsewhere, "--workers", "2", **variables)
        try:
            service.wait()
            with service.client() as client:
                assert client.get("/health/ready").status_code == 200
        finally:
            service.stop()


def test_a_service_goes_on_when_the_reader_of_its_log_has_gone(
    stores: EmbeddedStores, seeded_template: str, tmp_path: Path
) -> None:
    with database(stores, seeded_template) as url, session_store(stores) as redis_url:
        service = Unread(tmp_path, "--workers", "1", **variables_for(url, redis_url))
        try:
            service.wait()
            service.read_until(b"Application startup complete")
            service.ignore()
            (killed,) = service.workers
            os.kill(killed, signal.SIGKILL)
            assert eventually(lambda: bool(service.workers) and killed not in service.workers)
            with service.client() as client:
                assert client.get("/health/ready").status_code == 200
        finally:
            assert service.stop() == 0, service.errors
    assert "Traceback" not in service.errors
