"""The object store goes away, is slow or refuses the service: 503, a line in the log, nothing left over."""

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import AsyncGenerator, AsyncIterator
from pathlib import Path

import psycopg
import pytest
from structlog.testing import capture_logs

from service.errors import Unavailable
from service.features.files.orphan_cleanup import OrphanCleanup
from service.features.files.uploads import Offer, Uploads
from service.files.connections import opener
from service.files.object_store import PART, FilesCheck, ObjectStore, object_store
from service.kernel.coded_sentences import Sentence
from service.records.database.transactions import Database
from service.settings import Objstore, Upload
from tests.files.forms import PNG, disposition, download, form, send_slowly, upload, uploaded
from tests.files.test_object_store import settings_of
from tests.support.inside import Inside, inside_published
from tests.support.running import PATIENCE, ROOT
from tests.support.s3 import SECRET_KEY, S3Server
from tests.support.waiting import eventually_here


@pytest.fixture
async def service(fresh_url: str, redis_url: str, own_s3: S3Server) -> AsyncIterator[Inside]:
    """A service on an S3 server that can be stopped."""
    variables = own_s3.variables(PORTCULLIS_OBJSTORE__TIMEOUT="1")
    async with inside_published(fresh_url, redis_url, **variables) as running:
        yield running


async def nothing_left(service: Inside, s3: S3Server) -> None:
    """Claim that the cleanup leaves neither a row nor an object.

    A store that was frozen may still be about to write what was sent to it before: the next cleanup finds
    that.
    """
    async with Database(service.database_url) as database:
        cleanup = OrphanCleanup(database, object_store(settings_of(s3), Path()))
        await cleanup.once()
        assert service.beside().execute("SELECT name, state FROM sys.file").fetchall() == []
        for _ in range(200):
            if not s3.keys():
                break
            await asyncio.sleep(0.1)
            await cleanup.once()
    assert s3.keys() == []


async def ready_with(service: Inside, status: str, files: str) -> bool:
    """Tell whether the service becomes ready with this status and this state of the files, in time."""
    for _ in range(100):
        answer = await service.ask("GET", "/health/ready")
        data = answer.json.get("data", {})
        if (data.get("status"), data.get("parts", {}).get("files")) == (status, files):
            return answer.status == 200
        await asyncio.sleep(0.1)
    return False


class Stuck(ObjectStore):
    """Takes nothing, and does not answer a request to delete before it is told to."""

    def __init__(self) -> None:
        super().__init__(opener(Objstore(), Path()), "stuck")
        self.answers = asyncio.Event()

    async def put(self, key: str, pieces: AsyncIterator[bytes]) -> None:
        raise Unavailable(Sentence(f"{key} of {pieces} is refused"))

    async def delete(self, key: str) -> None:
        assert key
        await self.answers.wait()


async def test_a_refused_upload_does_not_wait_for_the_store_to_delete_what_is_left(fresh_url: str) -> None:
    async def content() -> AsyncGenerator[bytes, None]:
        yield PNG

    def states() -> list[str]:
        with psycopg.connect(fresh_url) as connection:
            return [state for (state,) in connection.execute("SELECT state FROM sys.file")]

    database, objects = Database(fresh_url), Stuck()
    uploads = Uploads(database, objects, Upload())
    async with asyncio.timeout(20):
        with pytest.raises(Unavailable):
            await uploads.receive(Offer(1, "a.png", content()))
    assert await eventually_here(lambda: states() == ["discarded"])
    objects.answers.set()
    assert await eventually_here(lambda: states() == [])
    await uploads.finish()
    await database.close()


async def test_what_is_still_being_cleared_when_the_service_ends_is_left_to_the_sweep(fresh_url: str) -> None:
    async def content() -> AsyncGenerator[bytes, None]:
        yield PNG

    async with Database(fresh_url) as database:
        uploads = Uploads(database, Stuck(), Upload())
        with pytest.raises(Unavailable):
            await uploads.receive(Offer(1, "a.png", content()))
        async with asyncio.timeout(20):
            await uploads.finish()


@pytest.mark.parametrize("way", ["stopped", "frozen"])
async def test_a_store_that_goes_away_in_the_middle_of_an_upload_is_a_503_and_leaves_nothing(
    service: Inside, own_s3: S3Server, way: str
) -> None:
    body = form(PNG + os.urandom(3 * PART), disposition("a.png"))

    async def pieces() -> AsyncIterator[bytes]:
        for start in range(0, len(body), 65_536):
            if start == 2 * PART:
                own_s3.stop() if way == "stopped" else own_s3.freeze()
            yield body[start : start + 65_536]

    with capture_logs() as lines:
        answer = await send_slowly(service, pieces(), declared=len(body))
    assert answer.code == "unavailable"
    assert answer.header("retry-after")
    assert "object store fails" in [line["event"] for line in lines]
    assert (await service.data("GET", "/api/file/list"))["items"] == []

    own_s3.start() if way == "stopped" else own_s3.thaw()
    assert (await upload(service)).status == 201
    (stored,) = (await service.data("GET", "/api/file/list"))["items"]
    await service.data("DELETE", f"/api/file/{stored['id']}")
    await nothing_left(service, own_s3)


async def test_a_silent_store_is_waited_for_once(service: Inside, own_s3: S3Server) -> None:
    data = await uploaded(service)
    own_s3.freeze()
    try:
        async with asyncio.timeout(20):  # each waits one second
            assert (await upload(service)).code == "unavailable"
            assert (await upload(service, content=PNG + bytes(2 * PART))).code == "unavailable"
            assert (await download(service, data["id"])).code == "unavailable"
            assert (await service.ask("DELETE", f"/api/file/{data['id']}")).status == 200
    finally:
        own_s3.thaw()
    await nothing_left(service, own_s3)


async def test_while_the_store_is_down_only_files_fail_and_what_was_deleted_is_deleted_later(
    service: Inside, own_s3: S3Server
) -> None:
    data = await uploaded(service)
    assert await ready_with(service, "ready", "up")

    own_s3.stop()
    assert (await upload(service)).code == "unavailable"
    assert (await download(service, data["id"])).code == "unavailable"
    assert await ready_with(service, "degraded", "down")
    assert (await service.ask("GET", "/api/user/info")).status == 200
    assert (await service.ask("DELETE", f"/api/file/{data['id']}")).status == 200
    assert (await service.data("GET", "/api/file/list"))["items"] == []

    own_s3.start()
    assert (await download(service, data["id"])).code == "not_found"
    assert own_s3.keys() != []
    await nothing_left(service, own_s3)


async def test_tampered_credentials_are_a_503_a_line_in_the_log_and_no_secret_anywhere(
    fresh_url: str, redis_url: str, s3: S3Server
) -> None:
    variables = s3.variables(OBJSTORE_SECRET_KEY=SECRET_KEY + "tampered")
    async with inside_published(fresh_url, redis_url, **variables) as service:
        with capture_logs() as lines:
            answer = await upload(service)
            ready = await service.ask("GET", "/health/ready")

    assert answer.code == "unavailable"
    assert (ready.status, ready.json["data"]["parts"]["files"]) == (200, "down")
    assert {line["reason"] for line in lines if line["event"] == "object store fails"} == {
        "SignatureDoesNotMatch"
    }
    text = str(lines) + str(answer) + str(ready)
    assert "tampered" not in text
    assert s3.endpoint not in answer.body.decode()


async def test_a_store_that_goes_away_in_the_middle_of_a_download_cuts_it_off(own_s3: S3Server) -> None:
    store = object_store(settings_of(own_s3, 1.0), Path())
    content = os.urandom(5 * PART)

    async def pieces() -> AsyncIterator[bytes]:
        yield content

    await store.put("x/y", pieces())
    received = bytearray()

    async def take() -> None:
        async for chunk in store.read("x/y", len(content), 0, len(content)):
            if not received:
                own_s3.stop()
            received.extend(chunk)

    with pytest.raises(Unavailable):
        await take()
    assert content.startswith(received)
    assert len(received) < len(content)


async def test_a_database_that_cannot_take_the_row_is_told_before_the_store_is_asked(
    service: Inside, own_s3: S3Server
) -> None:
    service.beside().execute(
        "ALTER TABLE sys.file ADD CONSTRAINT broken CHECK (name <> 'broken.png') NOT VALID"
    )

    with capture_logs():
        assert (await upload(service, "broken.png")).status == 500
    await nothing_left(service, own_s3)


async def test_a_file_that_the_database_cannot_settle_leaves_no_object(
    service: Inside, own_s3: S3Server
) -> None:
    service.beside().execute("ALTER TABLE sys.file ADD CONSTRAINT broken CHECK (state <> 'stored') NOT VALID")

    with capture_logs():
        assert (await upload(service)).status == 500
        assert (await upload(service, content=PNG + bytes(2 * PART))).status == 500
    await nothing_left(service, own_s3)


async def test_a_database_that_hangs_in_the_middle_of_an_upload_is_a_503_and_leaves_nothing(
    fresh_url: str, redis_url: str, own_s3: S3Server
) -> None:
    body = form(PNG + os.urandom(2 * PART), disposition("a.png"))

    async def pieces(connection: psycopg.Connection) -> AsyncIterator[bytes]:
        for start in range(0, len(body), 65_536):
            if start == PART:
                connection.execute("SELECT id FROM sys.file FOR UPDATE")
            yield body[start : start + 65_536]

    variables = own_s3.variables(PORTCULLIS_DATABASE__TIMEOUT="1")
    async with inside_published(fresh_url, redis_url, **variables) as service:
        with capture_logs() as lines, psycopg.connect(fresh_url) as connection:
            answer = await send_slowly(service, pieces(connection))
            assert await eventually_here(lambda: "upload not cleared" in [line["event"] for line in lines])
        assert answer.code == "unavailable"
        assert own_s3.keys() != []  # nothing may be deleted that may have been settled

        with psycopg.connect(fresh_url) as connection:
            connection.execute("UPDATE sys.file SET lease_time = now()")
        await nothing_left(service, own_s3)


_NAMESPACE = ["unshare", "--user", "--map-root-user", "--mount"]
_ON_A_SMALL_DISK = """
import asyncio, subprocess, sys
from pathlib import Path
from service.files.object_store import FilesCheck
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
    store = object_store(settings_of(own_s3, 1.0), Path())
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


async def test_a_directory_that_hangs_is_looked_into_by_one_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = object_store(Objstore(), tmp_path)
    await store.ping()
    begun, goes_on = [], threading.Event()

    def hang(directory: Path) -> None:
        begun.append(directory)
        goes_on.wait(PATIENCE)

    monkeypatch.setattr("service.files.object_store._look_into", hang)
    first = asyncio.create_task(store.ping())
    assert await eventually_here(lambda: begun == [tmp_path])
    with capture_logs(), pytest.raises(Unavailable):
        await store.ping()
    goes_on.set()
    await first
    assert begun == [tmp_path]
    assert store.calls["ping", "failed"] == 1
