"""The embedded PostgreSQL: one cluster, one database and one role, both named ``portcullis``."""

import shutil
import signal
import subprocess
from functools import partial
from pathlib import Path

from service.features.embedded.privilege import own_directory
from service.features.embedded.program import Program, end_all, guarded, postgres_program, server_environment
from service.operator.errors import EmbeddedError

SOCKET_NAME = ".s.PGSQL.5432"
ADMINISTRATOR = "postgres"
NAME = "portcullis"

# The builtin provider sorts the same on every machine, independent of C library and locales.
_LOCALE = ("--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C", "-E", "UTF8")
# With -j, a blank line ends a statement.
_BIRTH = f"CREATE ROLE {NAME} LOGIN;\n\nCREATE DATABASE {NAME} OWNER {NAME};\n\n"
_SMALL = {
    "listen_addresses": "",
    "max_connections": "100",
    "shared_buffers": "64MB",
    "max_wal_size": "256MB",
    "io_method": "sync",  # no worker processes for a small database
    "jit": "off",
    "timezone": "UTC",
    "log_timezone": "UTC",
}
_NOT_DURABLE = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
_STATUS_LINE = 7  # of postmaster.pid, counted from 0: LOCK_FILE_LINE_PM_STATUS in PostgreSQL's miscadmin.h


def postgres(directory: Path, sockets: Path, log: Path, *, durable: bool) -> Program:
    """Return the server program of the cluster in ``directory``; it listens in the directory ``sockets``."""
    quoted = str(sockets).replace('"', '""')
    settings = _SMALL | {"unix_socket_directories": f'"{quoted}"'} | ({} if durable else _NOT_DURABLE)
    options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
    return Program(
        name="PostgreSQL",
        command=(str(postgres_program("postgres")), "-D", str(directory), *options),
        directory=directory,
        log=log,
        prepare=partial(_prepare, directory, sockets, durable=durable),
        ready=partial(_is_ready, directory),
        stop_signal=signal.SIGINT,  # "fast": ends connections, writes a checkpoint
        death_signal=signal.SIGQUIT,  # "immediate": takes its children with it; the next start recovers
    )


def _prepare(directory: Path, sockets: Path, *, durable: bool) -> None:
    """Create the cluster if it is missing, and remove files of a killed owner."""
    if not directory.exists():
        _create(directory, durable=durable)
    end_all(directory, "postgres")
    # No server runs, so these files are stale: their process ids may belong to other processes by now.
    for stale in (directory / "postmaster.pid", sockets / SOCKET_NAME, sockets / f"{SOCKET_NAME}.lock"):
        stale.unlink(missing_ok=True)


def _create(directory: Path, *, durable: bool) -> None:
    """Build the cluster in a temporary directory and rename it, so that a partial one is never used."""
    aside = directory.with_name(f"{directory.name}.new")
    if aside.exists():
        end_all(aside, "postgres")
        shutil.rmtree(aside)
    own_directory(aside)
    unsynced = () if durable else ("--no-sync",)
    initdb = str(postgres_program("initdb"))
    _run(
        initdb,
        "-D",
        str(aside),
        "-U",
        ADMINISTRATOR,
        "--auth=trust",
        "--no-instructions",
        *_LOCALE,
        *unsynced,
    )
    single = (str(postgres_program("postgres")), "--single", "-j", "-D", str(aside), "-c", "fsync=off")
    _run(*single, "template1", given=_BIRTH)
    aside.rename(directory)


def _run(*command: str, given: str = "") -> None:
    result = subprocess.run(  # noqa: S603 - internal programs and arguments
        guarded(command, signal.SIGKILL),
        input=given,
        env=server_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    if result.returncode != 0 or "ERROR:" in result.stderr:
        raise EmbeddedError(
            f"{Path(command[0]).name} failed:\n{(result.stdout + result.stderr).strip()[-1500:]}"
        )


def _is_ready(directory: Path, pid: int) -> bool:
    """Return true if the postmaster's status is "ready"; ``pg_ctl`` checks the same."""
    try:
        lines = (directory / "postmaster.pid").read_text(errors="replace").splitlines()
    except OSError:
        return False
    return len(lines) > _STATUS_LINE and lines[0] == str(pid) and lines[_STATUS_LINE].strip() == "ready"
