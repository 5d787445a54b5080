"""The archive: a POSIX tar file with a manifest as its last member, written once and read in order."""

from __future__ import annotations

import os
import secrets
import tarfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import IO, Final, Self

import msgspec

from service.backup.manifest import (
    FORMAT,
    MANIFEST,
    Manifest,
    Member,
    decoder,
    encoder,
    format_decoder,
)
from service.operator.errors import LaunchError

_BLOCK: Final = 512
_CHUNK: Final = 1024 * 1024
_LARGEST_MANIFEST: Final = 1024 * 1024 * 1024


class ArchiveError(LaunchError):
    """The archive can't be written, or is not a complete one."""


class ArchiveWriter:
    """Writes ``path`` beside its place, and moves it there once it is whole; mode 0600.

    Refuses to replace a file that exists. Left with an error, nothing remains.
    """

    def __init__(self, path: Path) -> None:
        """Begin the archive; ArchiveError if there is a file at ``path``, or none can be made."""
        self._path = path
        self._members: list[Member] = []
        if os.path.lexists(path):
            raise ArchiveError(f"{path} exists already: choose another name, or remove it")
        self._partial = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
        try:
            handle = os.open(self._partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise ArchiveError(f"{path} can't be written: {error.strerror}") from error
        self._file: IO[bytes] = os.fdopen(handle, "wb")

    def __enter__(self) -> Self:
        """Return the archive."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Remove what was not finished."""
        self._file.close()
        with suppress(FileNotFoundError):
            self._partial.unlink()

    @contextmanager
    def member(self, name: str) -> Iterator[MemberWriter]:
        """Add a member of any size: the block writes its bytes. A block that raises adds none."""
        start = self._file.tell()
        writer = MemberWriter(self._file)
        self._file.write(bytes(_BLOCK))
        try:
            yield writer
        except BaseException:
            self._file.seek(start)
            self._file.truncate()
            raise
        self._file.write(bytes(-writer.size % _BLOCK))
        end = self._file.tell()
        self._file.seek(start)
        self._file.write(_header(name, writer.size))
        self._file.seek(end)
        self._members.append(Member(name, writer.size, writer.sha256))

    @property
    def members(self) -> tuple[Member, ...]:
        """The members so far."""
        return tuple(self._members)

    def finish(self, manifest: Manifest) -> None:
        """Add the manifest, and put the archive in its place; raises ``ArchiveError``."""
        with self.member(MANIFEST) as member:
            member.write(msgspec.json.format(encoder.encode(manifest), indent=1))
        self._file.write(bytes(2 * _BLOCK))
        self._file.flush()
        os.fsync(self._file.fileno())
        if os.path.lexists(self._path):
            raise ArchiveError(f"{self._path} exists by now")
        self._partial.rename(self._path)


class MemberWriter:
    """Takes the bytes of one member; ``size`` and ``sha256`` are those of the bytes so far."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._hash = sha256()
        self.size = 0

    @property
    def sha256(self) -> str:
        """The digest of the bytes so far, in hexadecimal."""
        return self._hash.hexdigest()

    def write(self, content: bytes) -> None:
        """Append ``content``."""
        self._file.write(content)
        self._hash.update(content)
        self.size += len(content)


def _header(name: str, size: int) -> bytes:
    """Return a header of one block; sizes above 8 GiB are written as GNU tar does."""
    info = tarfile.TarInfo(name)
    info.size, info.mode = size, 0o600
    return info.tobuf(tarfile.GNU_FORMAT)


class ArchiveReader:
    """Reads an archive whose ``manifest`` fits its members."""

    def __init__(self, path: Path) -> None:
        """Open it and read its manifest; raises ``ArchiveError``, also for a format of a later version."""
        self.path = path
        try:
            self._file = path.open("rb")
        except OSError as error:
            raise ArchiveError(f"{path} can't be read: {error.strerror}") from error
        try:
            self._tar = tarfile.open(fileobj=self._file, mode="r:")  # noqa: SIM115 - closed with the reader
            self._found = self._tar.getmembers()
            self.manifest = self._manifest()
            self._require_members()
        except BaseException as error:
            self._file.close()
            if isinstance(error, (OSError, tarfile.TarError, msgspec.MsgspecError, UnicodeDecodeError)):
                raise ArchiveError(f"{path} is not a complete backup") from error
            raise

    def __enter__(self) -> Self:
        """Return the archive."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
        self._tar.close()
        self._file.close()

    def chunks(self, name: str) -> Iterator[bytes]:
        """Yield the bytes of a member; ``ArchiveError`` at its end if they are not those of the manifest."""
        member = next(one for one in self.manifest.members if one.name == name)
        content, digest = self._tar.extractfile(name), sha256()
        assert content is not None  # noqa: S101 - a regular file: see _require_members
        with content:
            while chunk := content.read(_CHUNK):
                digest.update(chunk)
                yield chunk
        if digest.hexdigest() != member.sha256:
            raise ArchiveError(f"{self.path} is damaged: {name} is not what its manifest says")

    def verify(self) -> None:
        """Read everything and compare it with the manifest; raises ``ArchiveError``."""
        for member in self.manifest.members:
            for _ in self.chunks(member.name):
                pass

    def _manifest(self) -> Manifest:
        if not self._found or self._found[-1].name != MANIFEST or self._found[-1].size > _LARGEST_MANIFEST:
            raise tarfile.ReadError
        content = self._tar.extractfile(self._found[-1])
        if content is None:
            raise tarfile.ReadError
        text = content.read()
        if format_decoder.decode(text).format > FORMAT:
            raise ArchiveError(f"{self.path} was made by a later version, whose format this one can't read")
        return decoder.decode(text)

    def _require_members(self) -> None:
        found = [(one.name, one.size, one.isreg()) for one in self._found[:-1]]
        if found != [(one.name, one.size, True) for one in self.manifest.members] or _repeat(found):
            raise ArchiveError(f"{self.path} is damaged: its members are not those of its manifest")


def _repeat(found: Iterable[tuple[str, int, bool]]) -> bool:
    names = [name for name, _, _ in found]
    return len(set(names)) < len(names)
