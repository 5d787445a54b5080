"""Archives that others have written or changed: what is read of them, and what is refused."""

import hashlib
import io
import json
import re
import resource
import tarfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import msgspec
import pytest

from service import __version__
from service.features.operations.backup.archive import ArchiveError, ArchiveReader, ArchiveWriter, origin_of
from service.features.operations.backup.manifest import FORMAT, Files, Manifest
from tests.support.cases import with_each

KEY: Final = "Wm3-Rt8yUi0_PaSd5FgHj7KlZx2CvBn6Mq9WeRtYuIo"
OBJECT: Final = f"files/{'a1' * 16}/{'b2' * 16}"
CONTENT: Final = b"the bytes of a member"

Header = Callable[[tarfile.TarInfo], None]


def manifest(archive: ArchiveWriter) -> Manifest:
    return Manifest(
        format=FORMAT,
        id="0123456789abcdef",
        version="0.2.0",
        schema="v0001",
        snapshot_time=datetime(2026, 11, 21, tzinfo=UTC),
        server=180000,
        restore_epochs=(),
        revision=1,
        revision_digest="",
        heads=(),
        entries_under_way=0,
        files=Files(included=True, count=1, bytes=len(CONTENT), prefix="a1" * 16),
        keys=None,
        key_names=(),
        operator="otter",
        members=archive.members,
    )


def written(path: Path, *names: str, key: str = "") -> Path:
    """Write an archive with members of these names, as ``portcullis backup`` does."""
    with ArchiveWriter(path) as archive:
        for name in names:
            with archive.member(name) as member:
                member.write(CONTENT)
        archive.finish(manifest(archive), key)
    return path


def rewritten(path: Path, change: Header, *, form: int = tarfile.GNU_FORMAT) -> Path:
    """Write the archive at ``path`` again by tarfile, with the header of its first member changed."""
    other = path.with_suffix(".other")
    with tarfile.open(path) as old, tarfile.open(other, "w", format=form) as new:
        for place, info in enumerate(old.getmembers()):
            content = old.extractfile(info)
            assert content is not None
            if place == 0:
                change(info)
            new.addfile(info, content if info.isreg() else None)
    return other


def test_what_was_written_is_read_back(tmp_path: Path) -> None:
    path = written(tmp_path / "a.tar", "database.dump", OBJECT, "keys.jwe", key=KEY)
    with ArchiveReader(path) as read:
        read.verify()
        assert [member.name for member in read.manifest.members] == ["database.dump", OBJECT, "keys.jwe"]
        assert b"".join(read.chunks(OBJECT)) == CONTENT
        assert origin_of(read, KEY).proved


@contextmanager
def full_disk() -> Iterator[None]:
    """Have this process append nothing to files meanwhile: each write fails, as on a full disk."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_an_archive_of_a_version_with_another_manifest_is_named_as_such(tmp_path: Path) -> None:
    path = tmp_path / "old.tar"
    older = {"format": 1, "version": "0.2.9", "id": "x", "members": []}
    with tarfile.open(path, "w", format=tarfile.GNU_FORMAT) as tar:
        text = json.dumps(older).encode()
        info = tarfile.TarInfo("manifest.json")
        info.size = len(text)
        tar.addfile(info, io.BytesIO(text))
    with pytest.raises(ArchiveError) as refusal:
        ArchiveReader(path)
    assert re.fullmatch(
        rf"{path} was created by version 0\.2\.9, and version {__version__} can't read its manifest: "
        r"Object missing required field `\w+`\. Restore it with that version, then upgrade",
        str(refusal.value),
    )


def test_nothing_is_left_of_an_archive_for_which_there_is_no_room(tmp_path: Path) -> None:
    with (
        full_disk(),
        pytest.raises(ArchiveError, match=r"a\.tar can't be written: File too large\. Free space in /"),
        ArchiveWriter(tmp_path / "a.tar") as archive,
        archive.member("database.dump") as member,
    ):
        member.write(bytes(1024 * 1024))
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize(
    "name",
    [
        "/etc/passwd",
        "../outside",
        f"files/{'a1' * 16}/../../../outside",
        f"files/{'a1' * 16}/",
        f"files/{'A1' * 16}/{'b2' * 16}",
        f"{OBJECT}/more",
        f"{OBJECT}\n",
        "files/",
        "database.dump/more",
        "manifest.json",
        "\x1b[2J",
    ],
)
def test_a_member_with_another_name_than_those_of_backups_is_refused(tmp_path: Path, name: str) -> None:
    path = written(tmp_path / "a.tar", "database.dump", name)
    with pytest.raises(ArchiveError) as refusal:
        ArchiveReader(path)
    assert "\x1b" not in str(refusal.value)


def test_a_member_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "a.tar", "database.dump", OBJECT, OBJECT)
    with pytest.raises(ArchiveError, match="a member appears twice"):
        ArchiveReader(path)


def link(info: tarfile.TarInfo) -> None:
    info.type, info.linkname, info.size = tarfile.SYMTYPE, "/etc/passwd", 0


def hard_link(info: tarfile.TarInfo) -> None:
    info.type, info.linkname, info.size = tarfile.LNKTYPE, "manifest.json", 0


def folder(info: tarfile.TarInfo) -> None:
    info.type, info.size = tarfile.DIRTYPE, 0


def fifo(info: tarfile.TarInfo) -> None:
    info.type, info.size = tarfile.FIFOTYPE, 0


def continued(info: tarfile.TarInfo) -> None:
    info.pax_headers = {"path": "database.dump", "comment": "x" * 200}


def unchanged(_info: tarfile.TarInfo) -> None:
    return


@pytest.mark.parametrize("change", [link, hard_link, folder, fifo])
def test_whatever_else_a_tar_file_may_hold_is_refused(tmp_path: Path, change: Header) -> None:
    path = written(tmp_path / "a.tar", "database.dump", OBJECT)
    with pytest.raises(ArchiveError, match="is not a complete backup"):
        ArchiveReader(rewritten(path, change))


def test_headers_that_go_on_elsewhere_are_not_followed(tmp_path: Path) -> None:
    path = written(tmp_path / "a.tar", "database.dump", OBJECT)
    with ArchiveReader(rewritten(path, unchanged)) as read:  # else the next line would prove nothing
        read.verify()
    with pytest.raises(ArchiveError, match="is not a complete backup"):
        ArchiveReader(rewritten(path, continued, form=tarfile.PAX_FORMAT))


@pytest.mark.parametrize("size", [10**6, 2**62])
def test_a_member_longer_than_its_file_is_refused(tmp_path: Path, size: int) -> None:
    path = written(tmp_path / "a.tar", "database.dump")
    info = tarfile.TarInfo("database.dump")
    info.size = size
    content = bytearray(path.read_bytes())
    content[: tarfile.BLOCKSIZE] = info.tobuf(tarfile.GNU_FORMAT)
    path.write_bytes(content)
    with pytest.raises(ArchiveError, match="is not a complete backup"):
        ArchiveReader(path)


@with_each("content", [b"", bytes(1024), b"no archive at all" * 100, b"\x1f\x8b" + bytes(600)])
def test_another_file_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.tar"
    path.write_bytes(content)
    with pytest.raises(ArchiveError, match="is not a complete backup"):
        ArchiveReader(path)


def test_a_changed_archive_loses_its_proof_also_with_digests_that_fit(tmp_path: Path) -> None:
    path = written(tmp_path / "a.tar", "database.dump", key=KEY)
    other = b"the bytes of an attack"[: len(CONTENT)]
    before, after = (hashlib.sha256(content).hexdigest().encode() for content in (CONTENT, other))
    path.write_bytes(path.read_bytes().replace(CONTENT, other).replace(before, after))
    with ArchiveReader(path) as read:
        read.verify()  # a manifest alone proves nothing
        with pytest.raises(ArchiveError, match="was changed, or sealed with another key"):
            origin_of(read, KEY)
        assert not origin_of(read, "").proved


def test_an_archive_without_a_seal_or_with_that_of_another_key_proves_nothing(tmp_path: Path) -> None:
    unsealed, sealed = written(tmp_path / "a.tar", "database.dump"), tmp_path / "b.tar"
    written(sealed, "database.dump", key=KEY[::-1])
    with ArchiveReader(unsealed) as read:
        assert not origin_of(read, "").proved
        with pytest.raises(ArchiveError, match=r"has no seal, although oplog\.chain_key is set"):
            origin_of(read, KEY)
    with ArchiveReader(sealed) as read, pytest.raises(ArchiveError, match="with another key"):
        origin_of(read, KEY)


def test_a_digest_that_anybody_can_make_is_no_seal(tmp_path: Path) -> None:
    path = written(tmp_path / "a.tar", "database.dump", key=KEY)
    with tarfile.open(path) as tar:
        text = tar.extractfile("manifest.json")
        assert text is not None
        digest = hashlib.sha256(f"portcullis: backup {hashlib.sha256(text.read()).hexdigest()}".encode())
        with tarfile.open(tmp_path / "b.tar", "w") as new:
            for info in tar.getmembers()[:-1]:
                new.addfile(info, tar.extractfile(info))
            forged = f" {digest.hexdigest()}\n".encode()
            seal = tarfile.TarInfo("manifest.seal")
            seal.size = len(forged)
            new.addfile(seal, io.BytesIO(forged))
    with ArchiveReader(tmp_path / "b.tar") as read:
        assert not read.is_sealed("")
        assert not origin_of(read, "").proved


def test_a_manifest_that_is_nested_without_end_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    with ArchiveWriter(path) as archive:
        archive.finish(msgspec.structs.replace(manifest(archive), operator="x" * 100_000), "")
    content = path.read_bytes()
    place = content.index(b"{")  # the manifest
    path.write_bytes(content[:place] + b'{"x":' + b"[" * (len(content) - place - 5))
    with pytest.raises(ArchiveError, match="is not a complete backup"):
        ArchiveReader(path)


def test_an_archive_of_a_later_format_is_refused_in_words(tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    with ArchiveWriter(path) as archive:
        archive.finish(msgspec.structs.replace(manifest(archive), format=FORMAT + 1), "")
    with pytest.raises(ArchiveError, match="was created by a later version"):
        ArchiveReader(path)
