"""Commands of the service in processes of their own, without the second that each would import for.

Each command runs in a fork of one process that has imported the command line; what it reads and writes are
files, its variables and its folder are its own. The template of a service that starts so is a fork of its
launcher, in place of one more Python.
"""

import os
import signal
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from multiprocessing import forkserver, util
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Final

from service.__main__ import main
from tests.support.forks import forks


def run(
    folder: Path, arguments: Sequence[str], environ: Mapping[str, str], given: str, patience: float
) -> tuple[int, str, str]:
    """Run a command in ``folder``; return its exit status, standard output and standard error.

    ``given`` is its standard input. AssertionError if it still runs after ``patience`` seconds.
    """
    with tempfile.TemporaryDirectory(prefix="pc-") as name:
        files = [Path(name, stream) for stream in ("in", "out", "err")]
        files[0].write_text(given)
        process = start(folder, arguments, environ, files)
        process.join(patience)
        if process.exitcode is None:
            process.kill()
            raise AssertionError(f"portcullis {' '.join(arguments)} goes on")
        return process.exitcode, files[1].read_text(), files[2].read_text()


def start(
    folder: Path,
    arguments: Sequence[str],
    environ: Mapping[str, str],
    files: Sequence[Path],
    *,
    new_session: bool = False,
) -> BaseProcess:
    """Start a command whose standard input, output and error are ``files``.

    In a new session, a terminal among them becomes the one that controls it.
    """
    process = forks().Process(target=_run, args=(folder, arguments, dict(environ), files, new_session))
    process.start()
    return process


def _run(
    folder: Path,
    arguments: Sequence[str],
    environ: Mapping[str, str],
    files: Sequence[Path],
    new_session: bool,
) -> None:
    if new_session:
        os.setsid()
    for ignored in (signal.SIGTERM, signal.SIGHUP):  # a template of workers among its parents ignores them
        signal.signal(ignored, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # tests in the background of a shell ignore it
    for number, (file, mode) in enumerate(zip(files, ("r", "w", "w"), strict=True)):
        with file.open(mode) as opened:
            os.dup2(opened.fileno(), number)
    sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w", buffering=1), open(2, "w", buffering=1)  # noqa: SIM115 - they live as long as the process
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environ)
    tempfile.tempdir = None
    places = environ.get("PYTHONPATH", "").split(":")
    sys.path[:0] = [place for place in places if place and place not in sys.path]
    sys.argv = ["portcullis", *arguments]
    util.spawnv_passfds = _spawn  # type: ignore[assignment]
    sys.exit(main(arguments))


_MOST_FILES: Final = 4096  # more than a launcher has open
_spawn_anew: Final = util.spawnv_passfds


def _spawn(path: bytes, words: Sequence[str | bytes], passed: Sequence[int]) -> int:
    """Run a Python of ``multiprocessing``; the one that workers are forked from is a fork itself."""
    command = words[-1]
    if "forkserver" not in str(command):
        return _spawn_anew(path, words, passed)
    if pid := os.fork():
        return pid
    try:
        keep = sorted((0, 1, 2, *passed))
        for first, last in zip(keep, [*keep[1:], _MOST_FILES], strict=True):
            os.closerange(first + 1, last)
        forkserver._forkserver._lock = threading.Lock()  # type: ignore[attr-defined]  # the launcher holds it
        with suppress(SystemExit):
            exec(command, {})
        os._exit(0)
    finally:
        os._exit(1)
