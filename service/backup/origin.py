"""Who has made an archive: proved by the key of the log chains, and said plainly where nothing proves it."""

from __future__ import annotations

from typing import Final, NamedTuple

from service.backup.archive import ArchiveError, ArchiveReader

_ELSE: Final = (
    "Give the key of that backup as oplog.chain_key; or, if nobody else can have written the file, restore "
    "it with --unauthenticated"
)


class Origin(NamedTuple):
    """Whether it is proved who has made an archive, and a sentence about it."""

    proved: bool
    statement: str


UNCHECKED: Final = Origin(False, "Not looked at: --unauthenticated")
"""That of an archive which the operator trusts without a proof."""


def origin_of(archive: ArchiveReader, chain_key: str) -> Origin:
    """Return who has made ``archive``, as far as ``chain_key`` tells; without a key it is not known.

    Raises ``ArchiveError`` if there is a key, and the archive is not sealed with it.
    """
    if archive.is_sealed(chain_key):
        return Origin(True, f"Sealed with oplog.chain_key (key {archive.sealed_with})")
    if not chain_key:
        return Origin(False, "Not known: oplog.chain_key is not set")
    if archive.sealed_with is None:
        raise ArchiveError(f"{archive.path} has no seal, and oplog.chain_key is set here. {_ELSE}")
    raise ArchiveError(
        f"{archive.path} was changed, or sealed with another key than oplog.chain_key: it names the key "
        f"{archive.sealed_with!r}. {_ELSE}"
    )
