"""Restores an archive into an empty database, under a new restore epoch that separates later data."""

import secrets
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final, NamedTuple

from service.audit import entries
from service.audit.key_chain import Chain
from service.audit.seals import sealed, seals_of
from service.authn.denials import Denials
from service.authz.publishing.publisher import publish_if_changed
from service.authz.publishing.shipped import configured
from service.errors import Unavailable
from service.features.audit_proof import rows
from service.features.audit_proof.appending import append
from service.features.audit_proof.checkpoints import stored_checkpoints
from service.features.operations import store_restores
from service.features.operations.backup.archive import ArchiveReader, Origin
from service.features.operations.backup.making import WITHIN
from service.features.operations.backup.manifest import DATABASE, FILES, Manifest
from service.features.operations.backup.programs import feed, program_for
from service.features.operations.store_restores import Secrets
from service.features.second_factors import totp
from service.files.object_store import ObjectStore, object_store
from service.kernel.clock import now
from service.kernel.core_sentences import sentence
from service.keyspace import SessionStore
from service.operator.errors import LaunchError
from service.operator.who import operator_name
from service.records import bans, rights_changes
from service.records.database.transactions import Connection, Database
from service.records.installation import restore_epochs
from service.records.installation.migrate import migrate
from service.records.installation.restore_epochs import RecoveryPointHead, RestoreEpoch
from service.records.installation.schema_revision import known_schemas
from service.records.logs.events import OperationEvent
from service.records.published import policy_revisions
from service.settings import Settings

LEAST_REVISIONS: Final = 1000
"""The minimum number of skipped policy revisions, plus one for each ``_REVISION_EVERY`` seconds."""

_REVISION_EVERY: Final = 0.1
_RESTORE: Final = ("--no-owner", "--no-privileges", "--exit-on-error", "--single-transaction")


class RestoreError(LaunchError):
    """The archive can't be restored here; nothing was changed, unless the message says so."""


@dataclass(frozen=True, slots=True)
class Choices:
    """Credentials that the operator has chosen to keep in force."""

    api_keys: bool
    links: bool
    recovery_codes: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """The result of a restore; ``sessions`` is None if the session store was unreachable."""

    origin: Origin
    restore_epoch: RestoreEpoch
    revision: int
    files: int
    secrets: Secrets
    sessions: int | None = None


class _Known(NamedTuple):
    """Data in the session store about earlier databases: the announced revision and restore epochs."""

    reachable: bool
    revision: int = 0
    restore_epochs: frozenset[str] = frozenset()


async def restore(settings: Settings, archive: ArchiveReader, choices: Choices, origin: Origin) -> Restored:
    """Restore ``archive`` into the empty stores of ``settings``.

    The dump runs as the owner of the database; ``origin`` justifies that. The archive is compared with its
    manifest before any change. Raises ``RestoreError``, ``ArchiveError``, ``ProgramError`` and
    ``Unavailable``.
    """
    archive.verify()
    objects = object_store(settings.objstore, settings.server.data / "files")
    async with (
        Database(settings.database.url, pool_size=2, timeout=settings.database.timeout) as database,
        SessionStore(settings.redis, settings.auth) as store,
    ):
        work = _Restore(settings, database, store, objects, archive, choices, origin)
        async with database.transaction() as connection:
            await require_place(connection, archive.manifest)
        try:
            await work.put_files()
            restored = await work.database_back()
        except BaseException:
            if not work.committing:  # else it may have been committed, with rows for these files
                await work.remove_files()
            raise
        return replace(restored, sessions=await _end_sessions(database, store, restored))


async def require_place(connection: Connection, manifest: Manifest) -> None:
    """Raise ``RestoreError`` unless the backup can be restored into the database of ``connection``."""
    if manifest.schema not in known_schemas():
        raise RestoreError(
            f"The backup has schema {manifest.schema} of version {manifest.version}, which is unknown to "
            "this version: restore it with that version"
        )
    if (tables := await store_restores.count_tables(connection)) > 0:
        raise RestoreError(
            f"The database is not empty: it has {tables} tables. A restore needs a new database on which "
            "the service has never been started: set DATABASE_URL to one, or --data to a new data "
            "directory"
        )
    server = await store_restores.server_version(connection) // 10_000
    if server < manifest.server // 10_000:
        raise RestoreError(
            f"The backup is from PostgreSQL {manifest.server // 10_000}, but this server is {server}: "
            "restore it on a server of that version or later"
        )


@dataclass(slots=True)
class _Restore:
    settings: Settings
    database: Database
    store: SessionStore
    objects: ObjectStore
    archive: ArchiveReader
    choices: Choices
    origin: Origin
    prefix: str = field(default_factory=lambda: secrets.token_hex(16))
    committing: bool = False

    async def put_files(self) -> None:
        """Put the files of the archive into the object store, under the prefix of the new timeline."""
        for member in self.archive.manifest.members:
            if member.name.startswith(FILES):
                _, _, name = member.name.removeprefix(FILES).partition("/")
                await self.objects.put(f"{self.prefix}/{name}", self._pieces(member.name))

    async def _pieces(self, name: str) -> AsyncIterator[bytes]:
        for chunk in self.archive.chunks(name):
            yield chunk

    async def remove_files(self) -> None:
        """Remove the files stored by ``put_files``."""
        with suppress(Unavailable):
            async for keys in self.objects.keys(self.prefix):
                for key in keys:
                    await self.objects.delete(key)

    async def database_back(self) -> Restored:
        """Restore the database, and separate it from later data, in one transaction."""
        begun, manifest = now(), self.archive.manifest
        seconds = max(0.0, (begun - manifest.snapshot_time).total_seconds())
        async with self.database.transaction(within=WITHIN) as connection:
            # Publishing a revision takes this lock, so no worker withdraws the revision that is announced
            # here.
            await policy_revisions.lock(connection)
            known = await _known(self.store, manifest.restore_epochs[-1].name)
            least = max(manifest.revision, known.revision) + LEAST_REVISIONS
            least += round(seconds / _REVISION_EVERY)
            if known.reachable:
                # From here on, workers that still run on this store decide nothing by their old policy.
                await self.store.revision_key.announce(least)
            await self._load(connection)
            restore_epoch = _restore_epoch(manifest, begun, known.restore_epochs)
            restored = await self._cut(connection, restore_epoch, seconds, least)
            self.committing = True
        return restored

    async def _load(self, connection: Connection) -> None:
        url = self.settings.database.url
        program = program_for(self.settings, "pg_restore", await store_restores.server_version(connection))
        await feed(program, url, self.archive.chunks(DATABASE), *_RESTORE)
        migrate(url, configured(self.settings).extensions)

    async def _cut(self, connection: Connection, begun: RestoreEpoch, seconds: float, least: int) -> Restored:
        manifest, chain = self.archive.manifest, Chain(self.settings.oplog.chain_key)
        restore_epoch = sealed(chain, begun)
        await restore_epochs.add(connection, (*manifest.restore_epochs, restore_epoch))
        moved = await store_restores.raise_ids(connection, seconds)
        await store_restores.raise_versions(connection, seconds)
        await store_restores.retire_unknown_positions(connection)
        await rights_changes.forget(connection)
        ended = await store_restores.end_secrets(
            connection,
            api_keys=not self.choices.api_keys,
            links=not self.choices.links,
            recovery_codes=not self.choices.recovery_codes,
        )
        await store_restores.spend_app_codes(connection, int(begun.begin_time.timestamp()) // totp.PERIOD)
        await store_restores.begin_objects(connection, self.prefix, moved=manifest.files.included)
        policy = await publish_if_changed(
            connection,
            configured(self.settings),
            seals_of(self.settings.oplog),
            sentence("cause_backup_restored", backup=manifest.id),
            user_name=restore_epoch.operator,
            least=least,
            anew=True,
        )
        files = manifest.files.count - len(manifest.files.damaged) if manifest.files.included else 0
        restored = Restored(
            origin=self.origin,
            restore_epoch=restore_epoch,
            revision=policy.revision,
            files=files,
            secrets=ended,
        )
        await _enter(connection, chain, restored, manifest, moved)
        return restored


def _restore_epoch(manifest: Manifest, begun: datetime, timeline_names: frozenset[str]) -> RestoreEpoch:
    return RestoreEpoch(
        number=manifest.restore_epochs[-1].number + 1,
        name=secrets.token_hex(6),
        begin_time=begun,
        backup_id=manifest.id,
        snapshot_time=manifest.snapshot_time,
        operator=operator_name(),
        ended=tuple(
            sorted(timeline_names - {restore_epoch.name for restore_epoch in manifest.restore_epochs})
        ),
        heads=tuple(
            RecoveryPointHead(head.log, head.day, head.key_id, head.number) for head in manifest.heads
        ),
    )


async def _known(store: SessionStore, restore_epoch: str) -> _Known:
    try:
        announced = await store.revision_key.read(restore_epoch)
        reported = stored_checkpoints(await store.log.heads())
    except Unavailable:
        return _Known(False)
    witnessed = 0 if announced.checkpoint is None else announced.checkpoint.revision
    revision = max(announced.revision or 0, witnessed)
    return _Known(True, revision, frozenset(head.restore_epoch for head in reported))


async def _enter(
    connection: Connection, chain: Chain, restored: Restored, manifest: Manifest, moved: int
) -> None:
    """Record the restore in the operation log, in its transaction."""
    event = OperationEvent(
        module="backup",
        action="restore",
        kind="IMPORT",
        method="CLI",
        url="portcullis restore",
        params={
            "backup": manifest.id,
            "snapshotTime": manifest.snapshot_time.isoformat(),
            "authenticated": restored.origin.proved,
        },
        response={
            "timeline": restored.restore_epoch.number,
            "sequences": moved,
            "apiKeysEnded": restored.secrets.api_keys,
            "linksEnded": restored.secrets.links,
            "recoveryCodesEnded": restored.secrets.recovery_codes,
            "mailsGivenUp": restored.secrets.mails,
            "files": restored.files,
        },
        status=200,
        elapsed_ms=round((now() - restored.restore_epoch.begin_time).total_seconds() * 1000, 3),
        policy_revision=restored.revision,
        user_name=restored.restore_epoch.operator,
    )
    await append(connection, chain, "operation_log", [rows.read("operation_log", entries.encode(event))])


async def _end_sessions(database: Database, store: SessionStore, restored: Restored) -> int | None:
    """End the sessions in the store, and align its bans with the restored database.

    Returns the number of sessions; None if the store is unavailable.
    """
    denials = Denials(database, store)
    try:
        await store.revision_key.announce(restored.revision)
        ended = await store.former_sessions.end()
        async with database.transaction() as connection:
            denied = await bans.denied(connection)
        for user_id in sorted({*denied, *await store.former_sessions.banned()}):
            await denials.settle(user_id)
    except Unavailable:
        return None
    return ended
