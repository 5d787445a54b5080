"""Backups of a running service: what is in them, and what is refused."""

import asyncio
import hashlib
import json
import os
import signal
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from service.features.operations.backup.archive import ArchiveError, ArchiveReader
from service.features.operations.backup.programs import output_of
from service.features.operations.backup.sealed_keys import KeysError, keys_of, seal, unseal, write_keys
from service.records.database.transactions import engine
from service.settings import Settings
from tests.benchmarks.fault_matrix.mounts import NEEDS_MOUNT, fill, small_file_system
from tests.features.operations.backup.conftest import CHAIN_KEY, SECRET, Place
from tests.files.forms import uploaded
from tests.support import command_process
from tests.support.running import PATIENCE, environment, lives
from tests.support.waiting import eventually_here

PASSPHRASE = "a hedgehog under the lamp"
TEXT = b"what was uploaded before the backup\n"


@pytest.fixture(scope="module")
async def archive(place: Place) -> Path:
    """A backup with a file and the keys."""
    await uploaded(place.service, "notes.txt", TEXT)
    path = place.folder / "one.tar"
    given = {"PORTCULLIS_BACKUP_PASSPHRASE": PASSPHRASE}
    made = await place.command("backup", str(path), "--with-keys", **given)
    assert made.status == 0, made.errors
    return path


def mode_of(path: Path) -> int:
    return path.stat().st_mode & 0o777


def content_of(path: Path) -> bytes:
    return path.read_bytes()


def files_in(folder: Path) -> list[Path]:
    return sorted(folder.iterdir())


def manifest_of(path: Path) -> dict[str, Any]:
    manifest: dict[str, Any] = json.loads(
        subprocess.run(["tar", "-xOf", path, "manifest.json"], capture_output=True, check=True).stdout
    )
    return manifest


async def test_an_archive_is_a_tar_file_for_its_owner_alone_with_the_digest_of_each_member(
    place: Place, archive: Path
) -> None:
    assert mode_of(archive) == 0o600
    manifest = manifest_of(archive)
    with tarfile.open(archive) as tar:
        members = tar.getmembers()
        ends = ["manifest.json", "manifest.seal"]
        assert [member.name for member in members] == [
            *(member["name"] for member in manifest["members"]),
            *ends,
        ]
        for member, entry in zip(members[: -len(ends)], manifest["members"], strict=True):
            content = tar.extractfile(member)
            assert content is not None
            assert hashlib.sha256(content.read()).hexdigest() == entry["sha256"]
    with engine(place.service.database_url).connect() as connection:
        revision = connection.execute(text("SELECT max(revision) FROM sys.policy_revision")).scalar_one()
        restore_epoch = connection.execute(text("SELECT name FROM sys.timeline")).scalar_one()
    assert (manifest["revision"], manifest["timelines"][0]["name"]) == (revision, restore_epoch)


async def test_files_are_in_the_archive_under_the_keys_of_their_rows(archive: Path) -> None:
    manifest = manifest_of(archive)
    assert manifest["files"]["count"] == 1
    [name] = [member["name"] for member in manifest["members"] if member["name"].startswith("files/")]
    assert name.startswith(f"files/{manifest['files']['prefix']}/")
    with tarfile.open(archive) as tar:
        content = tar.extractfile(name)
        assert content is not None
        assert content.read() == TEXT


async def test_the_keys_are_encrypted_and_come_back_with_the_passphrase(
    place: Place, archive: Path, tmp_path: Path
) -> None:
    assert SECRET.encode() not in content_of(archive)
    passphrase = tmp_path / "passphrase"
    passphrase.write_text(f"{PASSPHRASE}\n")
    options = ("--write-keys", str(tmp_path / "keys"), "--passphrase-file", str(passphrase))
    written = await place.command("backup", str(archive), *options)
    assert written.status == 0, written.errors
    keys = {path.name: content_of(path).decode().strip() for path in files_in(tmp_path / "keys")}
    assert keys == {"auth.jwt_secret": SECRET, "oplog.chain_key": CHAIN_KEY}
    assert sorted(manifest_of(archive)["key_names"]) == sorted(keys)
    assert {mode_of(path) for path in files_in(tmp_path / "keys")} == {0o600}

    passphrase.write_text("another one, just as long")
    refused = await place.command("backup", str(archive), *options)
    assert (refused.status, "the passphrase is wrong" in refused.errors) == (1, True)


async def test_without_being_asked_no_backup_holds_keys(place: Place, tmp_path: Path) -> None:
    made = await place.command("backup", str(tmp_path / "two.tar"), "--without-files", "--json")
    report = json.loads(made.output)
    assert [member["name"] for member in report["members"]] == ["database.dump"]
    assert (report["keys"], report["files"]["included"]) == (None, False)


async def test_a_backup_is_in_the_operation_log_with_the_operator(place: Place, archive: Path) -> None:
    entries: list[Any] = []
    for _ in range(100):
        entries = (await place.service.data("GET", "/api/operation-log/list?module=backup"))["items"]
        if entries:
            break
        await asyncio.sleep(0.05)
    entry = await place.service.data("GET", f"/api/operation-log/{entries[-1]['id']}")
    assert (entry["action"], entry["method"], entry["params"]["file"]) == ("make", "CLI", archive.name)
    assert entry["userName"]


async def test_a_backup_is_noted_in_the_database_where_doctor_looks_for_it(
    place: Place, archive: Path
) -> None:
    with ArchiveReader(archive) as read:
        name = read.manifest.id
    rows = place.service.beside().execute("SELECT id, with_files FROM sys.backup").fetchall()
    assert (name, True) in rows
    assert "the last backup was made at" in (await place.command("doctor")).output


async def test_an_archive_is_never_written_over(place: Place, archive: Path) -> None:
    before = content_of(archive)
    refused = await place.command("backup", str(archive))
    assert (refused.status, "already exists" in refused.errors) == (1, True)
    assert content_of(archive) == before


async def test_a_pg_dump_older_than_the_server_is_refused_in_words(place: Place, tmp_path: Path) -> None:
    old = tmp_path / "pg_dump"
    old.write_text("#!/bin/sh\necho 'pg_dump (PostgreSQL) 12.3'\n")
    old.chmod(0o755)
    refused = await place.command(
        "backup", str(tmp_path / "x.tar"), PORTCULLIS_DATABASE__PROGRAMS=str(tmp_path)
    )
    assert refused.status == 1
    assert "pg_dump is older than the server" in refused.errors
    assert files_in(tmp_path) == [old]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
async def test_a_backup_that_is_told_to_end_leaves_nothing(
    place: Place, tmp_path: Path, number: signal.Signals
) -> None:
    slow = tmp_path / "programs" / "pg_dump"
    slow.parent.mkdir()
    (tmp_path / "out").touch()
    slow.write_text(
        f"#!/bin/sh\n[ $1 = --version ] && echo 'pg_dump (PostgreSQL) 99.0' && exit\n"
        f"echo $$ > {slow}.pid\necho begun\nexec sleep 600\n"
    )
    slow.chmod(0o755)
    variables = environment(tmp_path, **place.variables, PORTCULLIS_DATABASE__PROGRAMS=str(slow.parent))
    files = [Path(os.devnull), tmp_path / "out", tmp_path / "out"]
    process = command_process.start(tmp_path, ("backup", "x.tar"), variables, files)
    pid = slow.with_suffix(".pid")
    assert await eventually_here(lambda: pid.exists() and pid.read_text() != "")
    assert [path.name for path in files_in(tmp_path) if path.name.startswith(".x.tar.")]

    assert process.pid is not None
    os.kill(process.pid, number)
    await asyncio.to_thread(process.join, PATIENCE)

    assert process.exitcode == (130 if number == signal.SIGINT else -number)
    assert not lives(int(pid.read_text()))
    assert [path.name for path in files_in(tmp_path)] == ["out", "programs"]
    assert (tmp_path / "out").read_text() == ""


async def test_an_object_that_is_not_what_its_row_says_is_named_and_the_rest_is_kept(
    place: Place, tmp_path: Path
) -> None:
    key = (await uploaded(place.service, "other.txt", b"another file\n"))["id"]
    with engine(place.service.database_url).connect() as connection:
        object_key = connection.execute(
            text("SELECT key FROM sys.file WHERE id = :id"), {"id": key}
        ).scalar_one()
    place.object(object_key).write_bytes(b"ANOTHER FILE\n")
    report = json.loads((await place.command("backup", str(tmp_path / "three.tar"), "--json")).output)
    assert report["files"]["damaged"] == [object_key]
    assert f"files/{object_key}" not in [member["name"] for member in report["members"]]


async def test_an_archive_proves_its_origin_to_who_has_the_chain_key(place: Place, archive: Path) -> None:
    async def verified(**variables: str) -> tuple[int, str]:
        done = await place.command("backup", "--verify", str(archive), **variables)
        return done.status, (done.output + done.errors).splitlines()[-1]

    with ArchiveReader(archive) as read:
        key = read.sealed_with
    assert await verified() == (
        0,
        f"All members match the manifest. Origin: Sealed with oplog.chain_key (key {key}).",
    )
    status, output = await verified(PORTCULLIS_OPLOG__CHAIN_KEY="")
    assert (status, "Origin: Unknown: oplog.chain_key is not set." in output) == (0, True)
    status, output = await verified(PORTCULLIS_OPLOG__CHAIN_KEY=CHAIN_KEY[::-1])
    assert (status, f"sealed with another key than oplog.chain_key: its key is '{key}'" in output) == (
        1,
        True,
    )


@pytest.mark.parametrize("damaged_after", [b"PGDMP", b'"sha256": "', None], ids=str)
async def test_a_damaged_or_shortened_archive_is_noticed(
    archive: Path, tmp_path: Path, damaged_after: bytes | None
) -> None:
    content = bytearray(content_of(archive))
    if damaged_after is None:
        del content[len(content) // 2 :]
    else:
        content[content.index(damaged_after) + len(damaged_after)] ^= 1
    damaged = tmp_path / "damaged.tar"
    damaged.write_bytes(content)
    with pytest.raises(ArchiveError), ArchiveReader(damaged) as reader:
        reader.verify()


async def test_an_installation_whose_signing_key_is_not_known_has_no_backup_of_its_keys() -> None:
    with pytest.raises(KeysError, match=r"signing key is unknown: auth\.jwt_secret is empty"):
        keys_of(Settings())


async def test_only_files_with_the_names_of_keys_are_written(tmp_path: Path) -> None:
    with pytest.raises(KeysError, match="does not exist"):
        write_keys({"oplog.chain_key": CHAIN_KEY, "../somewhere": "else"}, tmp_path / "keys")
    assert files_in(tmp_path) == []


async def test_the_keys_open_with_their_passphrase_alone() -> None:
    sealed = seal({"auth.jwt_secret": "x"}, PASSPHRASE)
    assert unseal(sealed, PASSPHRASE) == {"auth.jwt_secret": "x"}
    with pytest.raises(KeysError):
        unseal(sealed, PASSPHRASE[:-1])
    with pytest.raises(KeysError):
        unseal(b"nothing of the kind", PASSPHRASE)


def test_a_program_ends_with_its_reader_also_while_much_waits_to_be_read() -> None:
    async def read_a_little() -> None:
        endless = "import os\nwhile True: os.write(1, bytes(65536))"
        output = output_of(Path(sys.executable), "postgresql://nobody@localhost/nowhere", "-c", endless)
        async with asyncio.timeout(20):
            await anext(output)
            await asyncio.sleep(0.1)  # until the loop reads no more of the pipe
            await output.aclose()

    asyncio.run(read_a_little())  # the loop of commands


async def test_a_backup_onto_a_full_disk_ends_in_a_sentence_and_leaves_nothing(
    place: Place, tmp_path: Path
) -> None:
    folder = tmp_path / "disk"
    with small_file_system(folder, 1) as mounted:
        if not mounted:
            pytest.skip(NEEDS_MOUNT)
        fill(folder)
        (folder / "filler").write_bytes(bytes(1000 * 1024))  # 24 KiB are left
        refused = await place.command("backup", str(folder / "a.tar"))
        assert (refused.status, files_in(folder)) == (1, [folder / "filler"])
    assert refused.errors.splitlines()[-1] == (
        f"portcullis: {folder}/a.tar can't be written: No space left on device. Free space in {folder}, or "
        "write the backup elsewhere. The partial file was removed"
    )
    assert "Traceback" not in refused.errors
