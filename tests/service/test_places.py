"""Places that the service is started in: what it can't use it does without, and its files are its own."""

import io
import os
import signal
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from service.features.embedded.stores import EmbeddedStores
from tests.service.callers import log_in
from tests.service.conftest import variables_for
from tests.support.databases import database, session_store
from tests.support.running import ROOT, Running, RunningAnew, command, descendants, running_anew
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


@pytest.mark.extended
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


@pytest.mark.extended
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


PASSWORD = "nine placid herons"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory as earlier versions left it: open to others."""
    data = tmp_path_factory.mktemp("data")
    for name in ("logs", "files", "files/ab"):
        (data / name).mkdir()
        (data / name).chmod(0o755)
    for name in ("logs/postgres.log", "logs/valkey.log.1", "files/ab/old"):
        (data / name).write_text("old\n")
        (data / name).chmod(0o644)
    (data / "files" / "link").symlink_to(ROOT / "README.md")
    return data


@pytest.fixture(scope="module")
def service(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    options = ("--data", str(folder), "--workers", "1")
    with running_anew(
        tmp_path_factory.mktemp("run"), *options, PORTCULLIS_ADMIN_PASSWORD=PASSWORD
    ) as running_service:
        yield running_service


def part_of(pid: int, name: str) -> bytes:
    """Return what the system tells of a process; nothing of one that has ended, as that of a job does."""
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""


def test_no_process_has_the_first_password_in_its_environment(service: Running) -> None:
    pids = [service.process.pid, *descendants(service.process.pid)]
    names = {part_of(pid, "comm").decode().strip() for pid in pids}
    assert {"postgres", "valkey-server"} <= names
    assert len(service.workers) == 1

    for pid in pids:
        assert PASSWORD.encode() not in part_of(pid, "environ"), pid
    for pid in (service.process.pid, *service.workers):  # it is the password alone that is missing
        assert b"PATH=" in Path(f"/proc/{pid}/environ").read_bytes()


def test_a_chosen_first_password_is_not_printed(service: Running) -> None:
    assert service.password == "the one that you set"
    assert PASSWORD not in service.errors + service.output


def test_folders_and_files_of_the_service_are_closed_to_others(service: Running, folder: Path) -> None:
    with service.client() as client:
        upload = {"file": ("note.txt", io.BytesIO(b"a note"), "text/plain")}
        answer = client.post("/api/file", files=upload, headers=log_in(client, password=PASSWORD))
    assert answer.status_code == 201, answer.text

    modes = {path: path.lstat().st_mode for name in ("logs", "files") for path in (folder / name).rglob("*")}
    files = [path for path, mode in modes.items() if stat.S_ISREG(mode)]
    assert len(files) >= 5  # the old ones, the log of Valkey, and the one that was uploaded
    for path, mode in modes.items():
        if not stat.S_ISLNK(mode):
            assert stat.S_IMODE(mode) == (0o700 if stat.S_ISDIR(mode) else 0o600), path
    for name in ("logs", "files"):
        assert stat.S_IMODE((folder / name).stat().st_mode) == 0o700
    assert (ROOT / "README.md").stat().st_mode & 0o044  # a link leads nowhere
