"""A running service keeps the first password and its files to itself."""

from __future__ import annotations

import io
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.service.callers import log_in
from tests.support.running import ROOT, Running, descendants, running_anew

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


def test_no_process_has_the_first_password_in_its_environment(service: Running) -> None:
    pids = [service.process.pid, *descendants(service.process.pid)]
    names = {Path(f"/proc/{pid}/comm").read_text().strip() for pid in pids}
    assert {"postgres", "valkey-server"} <= names
    assert len(service.workers) == 1

    for pid in pids:
        assert PASSWORD.encode() not in Path(f"/proc/{pid}/environ").read_bytes(), pid
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
