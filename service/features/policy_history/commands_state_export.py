"""``portcullis state export FILE``: writes the state that is stored."""

import errno
import os
import stat
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from service import settings as table
from service.cli.lazy_commands import add_data
from service.cli.output import say_text
from service.features.policy_history import stored_state
from service.features.policy_history.state import State, state_of
from service.features.policy_history.state_edits import require_no_clash
from service.features.policy_history.state_writing import as_yaml
from service.operator.database import with_database
from service.operator.stores import reachable
from service.records.database.transactions import Database
from service.settings import Settings
from service.settings.secrecy import written_beside

_NOTHING = state_of({})
_NOT_BESIDE: Final = (errno.EACCES, errno.EPERM, errno.EROFS, errno.EBUSY)
_WITHIN = 60.0  # seconds; ten thousand resources take less than one


def add_arguments(parser: ArgumentParser) -> None:
    """Add the file."""
    add_data(parser)
    parser.add_argument("file", metavar="FILE", help="the file to write; - for standard output")


def run(options: Namespace, environ: Mapping[str, str]) -> None:
    """Write the file.

    Raises ``SchemaError``, ``Conflict`` for a state that could not be applied, ``Unavailable`` and OSError.
    """
    with reachable(table.load(environ)) as settings:
        text = exported(settings)
    if options.file == "-":
        say_text(text.removesuffix("\n"))
        return
    path = Path(options.file)
    if path.exists() and not path.is_file():  # a device or a pipe
        path.write_text(text, "utf-8")
    else:
        _replace(path, text)


def _replace(path: Path, text: str) -> None:
    """Write a temporary file and move it to its path, so that a fault keeps the former file; raises OSError.

    Writes in place if no file can be created beside it, or if the file itself is a mount.
    """
    place = path.resolve()  # follows a symbolic link
    try:
        with written_beside(place, text) as made:
            made.chmod(stat.S_IMODE(place.stat().st_mode) if place.exists() else 0o666 & ~_umask())
            made.replace(place)
    except OSError as error:
        error.filename = str(path)
        if error.errno not in _NOT_BESIDE or not place.exists():
            raise
        place.write_text(text, "utf-8")


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def exported(settings: Settings) -> str:
    """Return the stored state as the content of a state file."""
    return as_yaml(with_database(settings, _read))


async def _read(database: Database) -> State:
    async with database.snapshot(within=_WITHIN) as connection:
        state = (await stored_state.read(connection)).state
    require_no_clash(_NOTHING, state)
    return state
