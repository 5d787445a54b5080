"""Runs pg_dump and pg_restore: those of the settings, of the PATH, or of the embedded PostgreSQL."""

import asyncio
import os
import re
import shutil
import subprocess
from collections.abc import AsyncGenerator, AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from service.features.embedded.program import postgres_program
from service.operator.errors import EmbeddedError, LaunchError
from service.records.database.connection import access_to
from service.settings import Settings

_VERSION: Final = re.compile(rb"\(PostgreSQL\) ([0-9]+)")
_KEPT: Final = ("PATH", "HOME", "LD_LIBRARY_PATH", "TMPDIR")
_CHUNK: Final = 1024 * 1024
_TAIL: Final = 1500  # bytes shown of a program's error output


class ProgramError(LaunchError):
    """A program of PostgreSQL is missing, too old, or has failed."""


def program_for(settings: Settings, name: str, server: int) -> Path:
    """Return the path of ``name`` that works with a server of version ``server`` (``server_version_num``).

    A program older than its server does not know all of it: pg_dump(1) refuses. Raises ``ProgramError``.
    """
    installed = [(path, _version_of(path)) for path in _candidates(settings, name)]
    needed = server // 10_000
    for path, version in installed:
        if version >= needed:
            return path
    where = "Install the client programs of that version, or set database.programs to their directory"
    if not installed:
        raise ProgramError(
            f"{name} of PostgreSQL {needed} or later is needed, and none is installed. {where}"
        )
    versions = ", ".join(f"{path} is of version {version}" for path, version in installed)
    raise ProgramError(f"{name} is older than the server, which is PostgreSQL {needed}: {versions}. {where}")


def _candidates(settings: Settings, name: str) -> Iterable[Path]:
    if (directory := settings.database.programs) is not None:
        path = directory / name
        return [path] if path.is_file() else []
    paths = [Path(program)] if (program := shutil.which(name)) else []
    try:
        return [*paths, postgres_program(name)]
    except EmbeddedError:
        return paths


def _version_of(path: Path) -> int:
    """Return the major version of a program; 0 if it can't be run."""
    try:
        completed = subprocess.run([path, "--version"], env=_environment(), capture_output=True, check=False)  # noqa: S603 - chosen by the operator
    except OSError:
        return 0
    version = _VERSION.search(completed.stdout)
    return int(version[1]) if version else 0


async def output_of(program: Path, url: str, *options: str) -> AsyncGenerator[bytes, None]:
    """Run a program on the database at ``url`` and yield its output; raise ``ProgramError`` if it fails."""
    async with _running(program, url, *options, stdin=asyncio.subprocess.DEVNULL) as process:
        assert process.stdout is not None  # noqa: S101 - it is a pipe
        while chunk := await process.stdout.read(_CHUNK):
            yield chunk


async def feed(program: Path, url: str, content: Iterable[bytes], *options: str) -> None:
    """Run a program on the database at ``url`` that reads ``content``; ``ProgramError`` if it fails."""
    async with _running(program, url, *options, stdout=asyncio.subprocess.DEVNULL) as process:
        assert process.stdin is not None  # noqa: S101 - it is a pipe
        try:
            for chunk in content:
                process.stdin.write(chunk)
                await process.stdin.drain()
            process.stdin.close()
        except ConnectionError:  # it has ended early, and says why
            pass


@asynccontextmanager
async def _running(
    program: Path,
    url: str,
    *options: str,
    stdin: int = asyncio.subprocess.PIPE,
    stdout: int = asyncio.subprocess.PIPE,
) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run a program for the duration of the block; kill it if the block fails, otherwise wait for it.

    Raises ``ProgramError`` with the end of its error output if it fails.
    """
    access = access_to(url)
    process = await asyncio.create_subprocess_exec(
        str(program),
        *options,
        f"--dbname={access.connection}",
        env=_environment() | access.variables,
        stdin=stdin,
        stdout=stdout,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stderr is not None  # noqa: S101 - it is a pipe
    error_output = asyncio.create_task(process.stderr.read())
    try:
        yield process
        _require_success(program, await process.wait(), await error_output)
    finally:
        if process.returncode is None:
            process.kill()
            await _read_up(process)
            await process.wait()
        await error_output


async def _read_up(process: asyncio.subprocess.Process) -> None:
    """Read what is left of the output.

    While much waits to be taken, asyncio stops reading, and so never sees the end that it waits for.
    """
    while process.stdout is not None and await process.stdout.read(_CHUNK):
        pass


def _require_success(program: Path, status: int, error_output: bytes) -> None:
    if status:
        words = error_output[-_TAIL:].decode(errors="replace").strip()
        raise ProgramError(f"{program.name} failed with status {status}:\n{words}")


def _environment() -> dict[str, str]:
    # No secret of ours is for these programs; what libpq would take from PG* variables must not count either.
    return {name: os.environ[name] for name in _KEPT if name in os.environ} | {"LC_ALL": "C"}
