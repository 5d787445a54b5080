"""``portcullis restore FILE``: restores an archive into empty stores, as a new restore epoch."""

import asyncio
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from pathlib import Path

from service import settings as table
from service.cli.lazy_commands import add_data
from service.cli.output import aligned, say
from service.features.operations.backup.archive import UNCHECKED, ArchiveReader, origin_of
from service.features.operations.backup.manifest import Manifest
from service.features.operations.backup.restoring import Choices, Restored, restore
from service.kernel.text import counted
from service.operator.stores import reachable
from service.operator.who import log_to_errors, tell_security


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("file", metavar="FILE", type=Path, help="an archive of portcullis backup")
    add_data(parser)
    parser.add_argument(
        "--keep-api-keys",
        action="store_true",
        help="keep API keys valid, including keys revoked after the backup",
    )
    parser.add_argument(
        "--unauthenticated",
        action="store_true",
        help="do not check the seal: the author of the archive controls all restored data",
    )
    parser.add_argument(
        "--keep-links",
        action="store_true",
        help="keep public links valid, including links revoked after the backup",
    )
    parser.add_argument(
        "--keep-recovery-codes",
        action="store_true",
        help="keep recovery codes valid, including codes used after the backup",
    )


def run(options: Namespace, environ: Mapping[str, str]) -> None:
    """Restore, and print the result; raises what ``restore``, ``origin_of`` and ``ArchiveReader`` raise."""
    choices = Choices(options.keep_api_keys, options.keep_links, options.keep_recovery_codes)
    given = table.load(environ)
    with ArchiveReader(options.file) as archive:
        origin = UNCHECKED if options.unauthenticated else origin_of(archive, given.oplog.chain_key)
        with reachable(given, create=True) as settings:
            log_to_errors(settings)
            done = asyncio.run(restore(settings, archive, choices, origin))
            tell_security(
                settings,
                "the database was restored from a backup",
                backup=archive.manifest.id,
                authenticated=origin.proved,
                timeline=done.restore_epoch.number,
            )
            say(*_report(done, archive.manifest))


def _report(done: Restored, manifest: Manifest) -> list[str]:
    ended = "unknown: the session store was unavailable"
    rows = [
        ("backup", f"{manifest.id} of {manifest.snapshot_time.isoformat()}"),
        ("origin", done.origin.statement),
        ("restore epoch", f"{done.restore_epoch.number} {done.restore_epoch.name}"),
        ("policy", f"revision {done.revision}"),
        ("files", counted(done.files, "file")),
        ("ended", counted(done.secrets.api_keys, "API key")),
        ("", counted(done.secrets.links, "public link")),
        ("", counted(done.secrets.recovery_codes, "recovery code")),
        ("", counted(done.secrets.mails, "waiting mail")),
        ("", ended if done.sessions is None else counted(done.sessions, "session")),
    ]
    return [*aligned(rows), "All earlier tokens are refused. Start or restart the service."]
