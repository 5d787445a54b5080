"""The archive: a POSIX tar file that ends with a manifest and its seal, written and read in order.

Only holders of the chain key can make the seal. It covers the manifest, and with it the digest of each
member. Without a key the archive has no seal: a plain digest would prove no origin.
"""

from __future__ import annotations

import errno
import hmac
import os
import secrets
import tarfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import IO, Final, NamedTuple, Self

import msgspec

from service import __version__
from service.audit.key_chain import Chain
from service.features.operations.backup import manifest as manifests
from service.operator.errors import LaunchError

_BLOCK: Final = 512
_CHUNK: Final = 1024 * 1024
_LARGEST_MANIFEST: Final = 1024 * 1024 * 1024
_LARGEST_SEAL: Final = 256
_OF_DISKS: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS)


class ArchiveError(LaunchError):
    """The archive can't be written, or is incomplete."""


class ArchiveWriter:
    """Writes a temporary file, and moves it to ``path`` once it is complete; mode 0600.

    Refuses to replace an existing file. After an error, nothing remains.
    """

    def __init__(self, path: Path) -> None:
        """Begin the archive; raises ``ArchiveError`` if ``path`` exists or can't be created."""
        self._path = path
        self._members: list[manifests.Member] = []
        if os.path.lexists(path):
            raise ArchiveError(f"{path} already exists: choose another name, or remove it")
        self._partial = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
        try:
            handle = os.open(self._partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise ArchiveError(f"{path} can't be written: {error.strerror}") from error
        self._file: IO[bytes] = os.fdopen(handle, "wb")
        self._folder = path.absolute().parent

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Remove an unfinished archive; raise ``ArchiveError`` if the disk written to caused the fault."""
        with suppress(OSError):  # on a full disk close() writes the remaining buffer and fails again
            self._file.close()
        with suppress(FileNotFoundError):
            self._partial.unlink()
        if isinstance(fault, OSError) and fault.errno in _OF_DISKS:
            raise ArchiveError(
                f"{self._path} can't be written: {fault.strerror}. Free space in {self._folder}, or write "
                "the backup elsewhere. The partial file was removed"
            ) from fault

    @contextmanager
    def member(self, name: str) -> Iterator[MemberWriter]:
        """Add a member of any size, written by the block. A block that raises adds none."""
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
        self._members.append(manifests.Member(name, writer.size, writer.sha256))

    @property
    def members(self) -> tuple[manifests.Member, ...]:
        """The members so far."""
        return tuple(self._members)

    def finish(self, manifest: manifests.Manifest, chain_key: str) -> None:
        """Add the manifest, sealed with ``chain_key`` unless that is empty, and move the archive to its path.

        Raises ``ArchiveError``.
        """
        text = msgspec.json.format(manifests.encoder.encode(manifest), indent=1)
        with self.member(manifests.MANIFEST) as member:
            member.write(text)
        if chain_key:
            with self.member(manifests.SEAL) as member:
                member.write(seal_of(chain_key, text))
        self._file.write(bytes(2 * _BLOCK))
        self._file.flush()
        os.fsync(self._file.fileno())
        if os.path.lexists(self._path):
            raise ArchiveError(f"{self._path} was created by another process in the meantime")
        self._partial.rename(self._path)


class MemberWriter:
    """Writes the bytes of one member; ``size`` and ``sha256`` describe the bytes so far."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._hash = sha256()
        self.size = 0

    @property
    def sha256(self) -> str:
        """The digest of the bytes so far, in hexadecimal."""
        return self._hash.hexdigest()

    def write(self, content: bytes) -> None:
        self._file.write(content)
        self._hash.update(content)
        self.size += len(content)


def _header(name: str, size: int) -> bytes:
    """Return a header of one block; sizes above 8 GiB are written as GNU tar does."""
    info = tarfile.TarInfo(name)
    info.size, info.mode = size, 0o600
    return info.tobuf(tarfile.GNU_FORMAT)


class _Place(NamedTuple):
    """The position of a member's bytes in the file."""

    name: str
    start: int
    size: int


class ArchiveReader:
    """Reads an archive whose ``manifest`` fits its members.

    Accepts only members that ``ArchiveWriter`` writes: regular files with checked names, in headers of one
    block. Everything else that a tar file can hold, such as links, is refused.
    """

    def __init__(self, path: Path) -> None:
        """Open the archive and read its manifest; raises ``ArchiveError``, also for a later format."""
        self.path = path
        try:
            self._file = path.open("rb")
        except OSError as error:
            raise ArchiveError(f"{path} can't be read: {error.strerror}") from error
        try:
            places = list(_places(self._file))
            self._seal = self._read(places.pop(), _LARGEST_SEAL) if places[-1].name == manifests.SEAL else b""
            self._text = self._read(places.pop(), _LARGEST_MANIFEST)
            self._places = {place.name: place for place in places}
            self.manifest = self._decoded()
            self._require_members(places)
        except BaseException as error:
            self._file.close()
            if isinstance(error, (OSError, tarfile.TarError, ValueError, IndexError, RecursionError)):
                raise ArchiveError(
                    f"{path} is not a complete backup: it is truncated or not a backup"
                ) from error
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    @property
    def sealed_with(self) -> str | None:
        """The key id named by the seal, None without a seal; it proves nothing."""
        return key_id_of(self._seal)

    def is_sealed(self, chain_key: str) -> bool:
        """True if the manifest, and with it the digest of each member, was sealed with ``chain_key``."""
        return is_sealed(chain_key, self._text, self._seal)

    def chunks(self, name: str) -> Iterator[bytes]:
        """Yield the bytes of a member; raise ``ArchiveError`` at its end if the manifest differs."""
        member = next(candidate for candidate in self.manifest.members if candidate.name == name)
        digest = sha256()
        for chunk in self._chunks(self._places[name]):
            digest.update(chunk)
            yield chunk
        if digest.hexdigest() != member.sha256:
            raise ArchiveError(f"{self.path} is damaged: {name} does not match the manifest")

    def verify(self) -> None:
        """Read everything and compare it with the manifest; raises ``ArchiveError``."""
        for member in self.manifest.members:
            for _ in self.chunks(member.name):
                pass

    def _chunks(self, place: _Place) -> Iterator[bytes]:
        at, end = place.start, place.start + place.size
        while chunk := os.pread(self._file.fileno(), min(_CHUNK, end - at), at):
            at += len(chunk)
            yield chunk

    def _read(self, place: _Place, most: int) -> bytes:
        if place.size > most:
            raise tarfile.ReadError
        return b"".join(self._chunks(place))

    def _decoded(self) -> manifests.Manifest:
        made = manifests.format_decoder.decode(self._text)
        if made.format > manifests.FORMAT:
            raise ArchiveError(
                f"{self.path} was created by a later version, and this version can't read its format"
            )
        try:
            return manifests.decoder.decode(self._text)
        except msgspec.ValidationError as error:
            raise ArchiveError(
                f"{self.path} was created by version {made.version or 'unknown'}, and version "
                f"{__version__} can't read its manifest: {error}. Restore it with that version, then "
                "upgrade"
            ) from error

    def _require_members(self, places: Sequence[_Place]) -> None:
        members = [(place.name, place.size) for place in places]
        if members != [(member.name, member.size) for member in self.manifest.members]:
            raise ArchiveError(f"{self.path} is damaged: its members do not match its manifest")
        for name, _ in members:
            if not manifests.is_member_name(name):
                raise ArchiveError(f"{self.path} is not a backup of this program: it has a member {name!r}")
        if len(self._places) < len(members):
            raise ArchiveError(f"{self.path} is damaged: a member appears twice")


def _places(file: IO[bytes]) -> Iterator[_Place]:
    """Yield the members of a tar file; raise ``TarError`` for any header that ``_header`` does not write.

    Reads one block for each header; continued headers, such as those of pax, are refused.
    """
    at, end = 0, os.fstat(file.fileno()).st_size
    while (block := os.pread(file.fileno(), _BLOCK, at)) != bytes(_BLOCK):  # as behind the last member
        info = tarfile.TarInfo.frombuf(block, "ascii", "strict")
        if info.type != tarfile.REGTYPE or not 0 <= info.size <= end - at:
            raise tarfile.ReadError
        yield _Place(info.name, at + _BLOCK, info.size)
        at += _BLOCK + info.size + -info.size % _BLOCK


def seal_of(chain_key: str, manifest: bytes) -> bytes:
    """Return the seal over the bytes of a manifest: the id of the key, and the MAC in hexadecimal."""
    chain = Chain(chain_key)
    mac = chain.seal(f"backup {sha256(manifest).hexdigest()}")
    return f"{chain.key_id} {mac.hex()}\n".encode("ascii")


def is_sealed(chain_key: str, manifest: bytes, seal: bytes) -> bool:
    """True if ``seal`` is that of ``manifest`` with ``chain_key``; never without a key."""
    return chain_key != "" and hmac.compare_digest(seal_of(chain_key, manifest), seal)


def key_id_of(seal: bytes) -> str | None:
    """Return the id of the key that ``seal`` names, None if it is empty; UnicodeDecodeError for no text."""
    return seal.decode("ascii").partition(" ")[0] if seal else None


_ELSE: Final = (
    "Set oplog.chain_key to the key of that backup. If only trusted people could have written the file, "
    "you can restore it with --unauthenticated"
)


class Origin(NamedTuple):
    """The origin of an archive: whether it is proved, and a sentence about it."""

    proved: bool
    statement: str


UNCHECKED: Final = Origin(False, "Not checked: --unauthenticated")
"""The origin of an archive that the operator trusts without a proof."""


def origin_of(archive: ArchiveReader, chain_key: str) -> Origin:
    """Return the origin of ``archive`` by its seal with ``chain_key``; unknown without a key.

    Raises ``ArchiveError`` if there is a key and the archive is not sealed with it.
    """
    if archive.is_sealed(chain_key):
        return Origin(True, f"Sealed with oplog.chain_key (key {archive.sealed_with})")
    if not chain_key:
        return Origin(False, "Unknown: oplog.chain_key is not set")
    if archive.sealed_with is None:
        raise ArchiveError(f"{archive.path} has no seal, although oplog.chain_key is set. {_ELSE}")
    raise ArchiveError(
        f"{archive.path} was changed, or sealed with another key than oplog.chain_key: its key is "
        f"{archive.sealed_with!r}. {_ELSE}"
    )
