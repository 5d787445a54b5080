"""The manifest of an archive, in its member ``manifest.json``."""

import re
from datetime import date, datetime
from typing import Final

import msgspec

from service.records.installation.restore_epochs import RestoreEpoch

FORMAT: Final = 1
"""The format of archives written by this version, and the newest that it reads."""
MANIFEST: Final = "manifest.json"
DATABASE: Final = "database.dump"
KEYS: Final = "keys.jwe"
FILES: Final = "files/"
SEAL: Final = "manifest.seal"

# Keys of objects: a prefix for each restore epoch, and a random name.
_NAME: Final = re.compile(rf"{re.escape(DATABASE)}|{re.escape(KEYS)}|{FILES}[0-9a-f]{{32}}/[0-9a-f]{{32}}")


def is_member_name(name: str) -> bool:
    """True if a member before the manifest may have that name: the name can't leave its folder."""
    return _NAME.fullmatch(name) is not None


class Member(msgspec.Struct, frozen=True):
    """A member of the archive: its name, its bytes, and their SHA-256 in hexadecimal."""

    name: str
    size: int
    sha256: str


class ChainHead(msgspec.Struct, frozen=True):
    """The end of the chain of one day of a log, as of the snapshot; ``hash`` in hexadecimal."""

    log: str
    day: date
    key_id: str
    number: int
    hash: str


class Files(msgspec.Struct, frozen=True):
    """The files that have rows as of the snapshot.

    ``included``: the archive has their contents. ``damaged`` are the keys of objects that are missing or
    differ from their rows.
    """

    included: bool
    count: int
    bytes: int
    prefix: str
    damaged: tuple[str, ...] = ()


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """The facts of one backup, all as of ``snapshot_time`` by the database's clock.

    ``entries_under_way`` counts log entries that were still in the session store and are missing in the
    archive. It is None if the store could not be asked. ``keys`` names the encryption of ``keys.jwe``, None
    without that member; ``key_names`` are the settings of its keys.
    """

    format: int
    id: str
    version: str
    schema: str
    snapshot_time: datetime
    server: int
    restore_epochs: tuple[RestoreEpoch, ...] = msgspec.field(name="timelines")  # of the first format
    revision: int
    revision_digest: str
    heads: tuple[ChainHead, ...]
    entries_under_way: int | None
    files: Files
    keys: str | None
    key_names: tuple[str, ...]
    operator: str
    members: tuple[Member, ...]


encoder: Final = msgspec.json.Encoder()
decoder: Final = msgspec.json.Decoder(Manifest)


class Format(msgspec.Struct, frozen=True):
    """The part of a manifest common to all formats; ``version`` is the writing version."""

    format: int
    version: str = ""


format_decoder: Final = msgspec.json.Decoder(Format)
