"""Makes a backup of a running installation, consistent as of one moment."""

import secrets
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Final, NamedTuple

from service import __version__
from service.errors import NotFound, Unavailable
from service.features.audit_proof import store_chain as chain
from service.features.files import store as files
from service.features.operations import store as backups
from service.features.operations.backup import manifest as manifests
from service.features.operations.backup.archive import ArchiveWriter, MemberWriter
from service.features.operations.backup.programs import output_of, program_for
from service.features.operations.backup.sealed_keys import ENCRYPTION, keys_of, seal
from service.features.operations.store import Snapshot, StoredObject
from service.files.object_store import ObjectStore, object_store
from service.keyspace import SessionStore
from service.operator.errors import LaunchError
from service.operator.who import operator_name
from service.records.database.transactions import Connection, Database
from service.records.installation import restore_epochs
from service.records.installation.restore_epochs import RestoreEpoch
from service.records.logs.inserts import TABLES
from service.records.published import policy_revisions
from service.settings import Settings

WITHIN: Final = timedelta(days=1).total_seconds()
"""The maximum duration of a backup in seconds."""

_DUMP: Final = (
    "--format=custom",
    "--no-owner",
    "--no-privileges",
    "--no-comments",
    # Workers belong to the old place. A database without a restore epoch is not served until its restore is
    # complete.
    "--exclude-table-data=sys.policy_worker",
    "--exclude-table-data=sys.timeline",
)


class BackupError(LaunchError):
    """The backup can't be made."""


async def make(
    settings: Settings, path: Path, *, with_files: bool, passphrase: str | None
) -> manifests.Manifest:
    """Write a backup to ``path``, and return its manifest.

    A ``passphrase`` adds the encrypted keys. Without ``with_files`` the contents of files are left out. If
    ``oplog.chain_key`` is set, the archive is sealed with it. Raises ``BackupError``, ``ArchiveError``,
    ``ProgramError``, ``KeysError`` and ``Unavailable``; then no file remains at ``path``.
    """
    keys = keys_of(settings) if passphrase is not None else {}
    objects = object_store(settings.objstore, settings.server.data / "files")
    async with Database(settings.database.url, pool_size=2, timeout=settings.database.timeout) as database:
        with ArchiveWriter(path) as archive:
            async with _objects_kept(database), database.snapshot(within=WITHIN) as connection:
                snapshot = await backups.export_snapshot(connection)
                stored = [file async for file in backups.stored_objects(connection)]
                await _dump(settings, archive, snapshot)
                facts = await _facts(connection)
                damaged = await _copy(objects, archive, stored) if with_files else ()
            if passphrase is not None:
                with archive.member(manifests.KEYS) as member:
                    member.write(seal(keys, passphrase))
            manifest = manifests.Manifest(
                format=manifests.FORMAT,
                id=secrets.token_hex(8),
                version=__version__,
                schema=snapshot.schema,
                snapshot_time=snapshot.time,
                server=snapshot.server,
                restore_epochs=facts.restore_epochs,
                revision=facts.revision,
                revision_digest=facts.revision_digest,
                heads=facts.heads,
                entries_under_way=await _entries_under_way(settings),
                files=manifests.Files(
                    with_files, len(stored), sum(file.size for file in stored), snapshot.prefix, damaged
                ),
                keys=None if passphrase is None else ENCRYPTION,
                key_names=tuple(keys),
                operator=operator_name(),
                members=archive.members,
            )
            archive.finish(manifest, settings.oplog.chain_key)
    return manifest


@asynccontextmanager
async def _objects_kept(database: Database) -> AsyncIterator[None]:
    """Prevent deletion of objects during the block; raises ``Unavailable`` if that protection was lost."""
    async with database.transaction(within=WITHIN) as connection:
        await files.keep_objects(connection)
        yield
        await files.keep_objects(connection)


async def _dump(settings: Settings, archive: ArchiveWriter, snapshot: Snapshot) -> None:
    program = program_for(settings, "pg_dump", snapshot.server)
    options = (*_DUMP, f"--snapshot={snapshot.name}")
    # The program is stopped at once if the archive can't be written.
    with archive.member(manifests.DATABASE) as member:
        async with aclosing(output_of(program, settings.database.url, *options)) as chunks:
            async for chunk in chunks:
                member.write(chunk)


class _Facts(NamedTuple):
    restore_epochs: tuple[RestoreEpoch, ...]
    revision: int
    revision_digest: str
    heads: tuple[manifests.ChainHead, ...]


async def _facts(connection: Connection) -> _Facts:
    """Return the manifest's facts about restore epochs, policy and logs, as of the snapshot."""
    latest = await policy_revisions.latest(connection)
    if latest is None:
        raise BackupError("There is nothing to back up: the service has never been started on this database")
    heads = [
        manifests.ChainHead(head.log, head.day, head.key_id, head.number, head.hash.hex())
        for log in TABLES
        for head in await chain.heads(connection, log)
    ]
    begun = await restore_epochs.every(connection)
    return _Facts(tuple(begun), latest.revision, latest.digest, tuple(heads))


async def _copy(objects: ObjectStore, archive: ArchiveWriter, stored: list[StoredObject]) -> tuple[str, ...]:
    """Copy the contents of files; return the keys of missing or damaged objects."""
    return tuple([file.key for file in stored if not await _is_copied(objects, archive, file)])


class _DamagedError(Exception):
    """An object differs from its row."""


async def _is_copied(objects: ObjectStore, archive: ArchiveWriter, file: StoredObject) -> bool:
    if not manifests.is_member_name(manifests.FILES + file.key):  # a restore would refuse it
        return False
    try:
        with archive.member(manifests.FILES + file.key) as member:
            await _copy_content(objects, member, file)
    except (NotFound, _DamagedError):
        return False
    except Unavailable:
        # Unavailable, or of another size than its row: the store reports both alike.
        await objects.ping()
        return False
    return True


async def _copy_content(objects: ObjectStore, member: MemberWriter, file: StoredObject) -> None:
    async for piece in objects.read(file.key, file.size, 0, file.size):
        member.write(piece)
    if member.sha256 != file.sha256:
        raise _DamagedError


async def _entries_under_way(settings: Settings) -> int | None:
    try:
        async with SessionStore(settings.redis, settings.auth) as store:
            return (await store.log.counts()).under_way
    except Unavailable:
        return None
