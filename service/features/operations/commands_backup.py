"""``portcullis backup FILE``: writes all stored data to one file, or lists the content of such a file."""

import asyncio
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from pathlib import Path
from time import perf_counter
from typing import Final

import msgspec

from service import settings as table
from service.audit.journal import enter
from service.cli.lazy_commands import add_data, add_json
from service.cli.output import aligned, say, say_text
from service.features.operations import store as backups
from service.features.operations.backup.archive import ArchiveReader, origin_of
from service.features.operations.backup.making import make
from service.features.operations.backup.manifest import KEYS, Manifest
from service.features.operations.backup.sealed_keys import KeysError, asked_passphrase, unseal, write_keys
from service.kernel.text import counted
from service.operator.stores import reachable
from service.operator.who import log_to_errors, operator_event
from service.records.database.transactions import Database
from service.records.installation.schema_revision import require_current
from service.records.logs.events import OperationEvent
from service.settings import Settings

_MIB: Final = 1024 * 1024


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("file", metavar="FILE", type=Path, help="the archive, a tar file")
    add_data(parser)
    what = parser.add_mutually_exclusive_group()
    what.add_argument(
        "--verify",
        action="store_true",
        help="only verify an archive with its manifest, and the manifest with its seal",
    )
    what.add_argument("--list", action="store_true", help="only show the contents of an archive")
    what.add_argument(
        "--write-keys",
        metavar="DIR",
        type=Path,
        help="only write the keys of an archive to files in DIR",
    )
    what.add_argument(
        "--with-keys", action="store_true", help="also save the signing keys and the chain key, encrypted"
    )
    parser.add_argument(
        "--passphrase-file",
        metavar="FILE",
        type=Path,
        help=(
            "a file with the passphrase for the keys; otherwise PORTCULLIS_BACKUP_PASSPHRASE, otherwise "
            "a prompt"
        ),
    )
    parser.add_argument("--without-files", action="store_true", help="exclude the contents of files")
    add_json(parser)


def run(options: Namespace, environ: Mapping[str, str]) -> None:
    """Make a backup or list its content; raises what ``make`` and ``ArchiveReader`` raise."""
    if options.verify or options.list or options.write_keys:
        _look_into(options, environ)
        return
    passphrase = asked_passphrase(options.passphrase_file, new=True) if options.with_keys else None
    begun = perf_counter()
    with reachable(table.load(environ)) as settings:
        log_to_errors(settings)
        require_current(settings.database.url)
        manifest = asyncio.run(
            make(settings, options.file, with_files=not options.without_files, passphrase=passphrase)
        )
        asyncio.run(_note(settings, manifest))
        asyncio.run(enter(settings, _event(options, manifest, begun)))
    _show(options, manifest)


async def _note(settings: Settings, manifest: Manifest) -> None:
    """Record the backup in the database, where ``doctor`` looks up the last one."""
    async with (
        Database(settings.database.url, pool_size=1, timeout=settings.database.timeout) as database,
        database.transaction() as connection,
    ):
        await backups.note(
            connection,
            manifest.id,
            manifest.snapshot_time,
            manifest.operator,
            with_files=manifest.files.included,
        )


def _look_into(options: Namespace, environ: Mapping[str, str]) -> None:
    with ArchiveReader(options.file) as archive:
        if options.verify:
            archive.verify()
            origin = origin_of(archive, table.load(environ).oplog.chain_key)
        if options.write_keys:
            _write_keys(options, archive)
            return
        _show(options, archive.manifest)
    if options.verify and not options.json:
        say(f"All members match the manifest. Origin: {origin.statement}.")


def _write_keys(options: Namespace, archive: ArchiveReader) -> None:
    if archive.manifest.keys is None:
        raise KeysError(f"{options.file} has no keys: it was created without --with-keys")
    sealed = b"".join(archive.chunks(KEYS))
    passphrase = asked_passphrase(options.passphrase_file, new=False)
    keys = unseal(sealed, passphrase)
    if set(keys) != set(archive.manifest.key_names):
        raise KeysError(f"the keys in {options.file} do not match its manifest")
    for path in write_keys(keys, options.write_keys):
        say(str(path))


def _event(options: Namespace, manifest: Manifest, begun: float) -> OperationEvent:
    return operator_event(
        "backup",
        begun,
        module="backup",
        action="make",
        kind="EXPORT",
        params={"file": options.file.name, "withKeys": options.with_keys, "files": manifest.files.included},
        response={"id": manifest.id, "snapshotTime": manifest.snapshot_time.isoformat()},
        policy_revision=manifest.revision,
    )


_NO_KEYS = "none: store them elsewhere, or include them with --with-keys"


def _show(options: Namespace, manifest: Manifest) -> None:
    if options.json:
        say_text(msgspec.json.format(msgspec.json.encode(manifest), indent=2).decode())
        return
    files = manifest.files
    kept = f"{counted(files.count, 'file')}, {files.bytes / _MIB:.1f} MiB"
    waiting = manifest.entries_under_way
    rows = [
        ("backup", manifest.id),
        ("of", f"{manifest.snapshot_time.isoformat()}, by {manifest.operator}"),
        ("version", f"{manifest.version}, schema {manifest.schema}, PostgreSQL {manifest.server // 10_000}"),
        ("restore epoch", f"{manifest.restore_epochs[-1].number} {manifest.restore_epochs[-1].name}".strip()),
        ("policy", f"revision {manifest.revision}"),
        ("logs", f"{sum(head.number for head in manifest.heads)} entries"),
        ("not included", "not known" if waiting is None else f"{waiting} queued entries"),
        ("files", kept if files.included else f"{kept}, without their contents"),
        (
            "keys",
            _NO_KEYS if manifest.keys is None else f"{', '.join(manifest.key_names)}, as {manifest.keys}",
        ),
    ]
    say(*aligned(rows))
    if files.damaged:
        say(f"Missing or damaged in the object store: {', '.join(files.damaged)}")
