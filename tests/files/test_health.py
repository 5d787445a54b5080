"""Whether files can be written, as the readiness check finds out."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from service.errors import Unavailable
from service.files.health import FilesCheck
from service.files.object_store import object_store
from service.settings import Objstore
from tests.files.test_object_store import settings_of
from tests.support.running import ROOT
from tests.support.s3 import S3Server

pytestmark = pytest.mark.anyio

_NAMESPACE = ["unshare", "--user", "--map-root-user", "--mount"]
_ON_A_SMALL_DISK = """
import asyncio, subprocess, sys
from pathlib import Path
from service.files.health import FilesCheck
from service.files.object_store import object_store
from service.settings import Objstore

directory = Path(sys.argv[1])
check = FilesCheck(object_store(Objstore(), directory), directory)
tell = lambda: print(asyncio.run(check.health()).state)
mount = lambda *options: subprocess.run(["mount", *options, directory], check=True)

mount("-t", "tmpfs", "-o", "size=256k", "none")
tell()
(directory / "filler").write_bytes(bytes(224 * 1024))
tell()
(directory / "filler").unlink()
tell()
mount("-o", "remount,bind,ro")  # without bind the options of the file system would be given, its owner too
tell()
"""


def check_of(directory: Path) -> FilesCheck:
    return FilesCheck(object_store(Objstore(), directory), directory)


def names_in(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


async def test_a_directory_that_can_be_written_is_up_and_nothing_is_left_in_it(tmp_path: Path) -> None:
    assert (await check_of(tmp_path).health()).state == "up"
    assert names_in(tmp_path) == []


def test_a_directory_that_is_full_or_mounted_read_only_is_read_only(tmp_path: Path) -> None:
    if subprocess.run([*_NAMESPACE, "true"], check=False, capture_output=True).returncode:
        pytest.skip("this machine allows no mount namespaces")
    done = subprocess.run(
        [*_NAMESPACE, sys.executable, "-c", _ON_A_SMALL_DISK, tmp_path],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split() == ["up", "read_only", "up", "read_only"], done.stderr


async def test_a_directory_that_is_none_is_down(tmp_path: Path) -> None:
    check = check_of(tmp_path / "files")
    await check.health()
    (tmp_path / "files").rmdir()
    (tmp_path / "files").touch()
    with capture_logs(), pytest.raises((OSError, Unavailable)):
        await check.health()


async def test_a_store_that_refused_the_last_upload_is_degraded_until_one_succeeds(
    own_s3: S3Server,
) -> None:
    store = object_store(settings_of(own_s3), Path())
    check = FilesCheck(store, store.directory)

    async def pieces() -> AsyncIterator[bytes]:
        yield b"content"

    own_s3.stop()
    with capture_logs(), pytest.raises(Unavailable):
        await store.put("x/y", pieces())
    own_s3.start()
    assert (await check.health()).state == "degraded"
    await store.put("x/y", pieces())
    assert (await check.health()).state == "up"
