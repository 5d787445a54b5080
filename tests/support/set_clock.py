"""Real programs with a clock that a test sets while they run: by a library that is put before libc's."""

import os
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import redis

from service.features.embedded import program
from service.features.embedded.program import valkey_program
from service.features.embedded.stores import EmbeddedStores
from tests.support.ports import free_port
from tests.support.waiting import eventually

_SOURCE = Path(__file__).with_suffix(".c")


class SetClock:
    """The clock of all programs that are started with ``variables``; needs a C compiler."""

    def __init__(self, folder: Path) -> None:
        """``folder`` must be one that the embedded servers may read."""
        compiler = shutil.which("cc")
        if compiler is None:
            pytest.skip("there is no C compiler")
        library, self._file = folder / "set_clock.so", folder / "ahead"
        subprocess.run([compiler, "-O1", "-shared", "-fPIC", "-o", library, _SOURCE], check=True)
        self._file.write_bytes(struct.pack("=q", 0))
        self.variables = {"LD_PRELOAD": str(library), "SET_CLOCK": str(self._file)}

    def set(self, seconds: int) -> None:
        """Set it to so many seconds ahead of the true time."""
        with self._file.open("r+b") as file:
            file.write(struct.pack("=q", seconds))


@contextmanager
def open_folder() -> Iterator[Path]:
    """Yield a folder that everybody may read."""
    with tempfile.TemporaryDirectory(prefix="pc-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@contextmanager
def session_store(folder: Path, clock: SetClock | None) -> Iterator[str]:
    """Run a Valkey below ``folder``, by ``clock`` if there is one; yield its URL."""
    port = free_port()
    words = (
        "--bind",
        "127.0.0.1",
        "--port",
        str(port),
        "--dir",
        str(folder),
        "--save",
        "",
        "--appendonly",
        "no",
    )
    variables = os.environ | (clock.variables if clock else {})
    with (folder / "valkey.log").open("wb") as log:
        process = subprocess.Popen([str(valkey_program()), *words], env=variables, stdout=log, stderr=log)
    try:
        with redis.Redis(port=port) as client:

            def answers() -> bool:
                try:
                    return bool(client.ping())
                except redis.RedisError:
                    return False

            assert eventually(answers)
        yield f"redis://127.0.0.1:{port}/0"
    finally:
        process.kill()
        process.wait()


@contextmanager
def database(folder: Path, clock: SetClock | None) -> Iterator[str]:
    """Run a PostgreSQL below ``folder``, by ``clock`` if there is one; yield the URL of an empty database."""
    with pytest.MonkeyPatch.context() as patch:
        if clock is not None:
            environment = program.server_environment()
            patch.setattr(program, "server_environment", lambda: environment | clock.variables)
        with EmbeddedStores(folder / "data", durable=False, with_valkey=False) as stores:
            yield stores.database_url
