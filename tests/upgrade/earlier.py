"""Earlier versions of the service: what they have left, kept in ``kept``, and the programs themselves.

What is kept was written by the real programs: ``make.py`` runs them. Its passwords, keys and tokens were made
for it, and are used nowhere else.
"""

import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec
import pytest

from service.features.embedded.privilege import own_directory
from tests.support.running import ROOT, Running, command, environment
from tests.support.set_clock import SetClock
from tests.support.unpacking import unpack

KEPT: Final = Path(__file__).with_name("kept")
RELEASE: Final = "0.2.0"
COMMITS: Final = {
    RELEASE: "5bbe58f3c904f40c32184aa8ebc2a8bbcbdc7f01",
    "8879af6": "8879af6efe2ba6ba00cef3a73933c51b1e6ba939",
    "128656f": "128656f076fc626dcea1b1c83162d3e5997c6830",
    "25571e91": "25571e9167a02ee4766819ec22b2617e8541ca27",
}
"""The release 0.2.0 (schema v0015), and three states of the development after it (v0028, v0030 and v0066)."""
_WITH_INITIAL_PASSWORDS: Final = ("25571e91",)
"""The versions that have the setting ``password.initial``."""
PASSWORD: Final = "upgrade-Fixture-only-7291"
CHAIN_KEY: Final = "a throw-away key of the upgrade tests, used nowhere else"
HOUR: Final = 3600

_SERVERS_TAKE_THE_CLOCK: Final = """
try:
    from service.features.embedded import program
except ImportError:  # of an earlier version
    from service.embedded import program

program._KEPT_ENVIRONMENT += ("LD_PRELOAD", "SET_CLOCK")
"""


class Session(msgspec.Struct):
    """The tokens of a session, as its login or last refresh returned them."""

    access: str
    refresh: str


class Facts(msgspec.Struct):
    """What an installation held when it was stopped, at ``made_at`` (seconds since the epoch)."""

    ids: dict[str, int]
    sessions: dict[str, Session]
    revisions: dict[int, str]
    link: str
    api_key: str | None
    counts: dict[str, int] = {}
    schema: str = ""
    made_at: int = 0


class Kept:
    """An unpacked installation: ``data`` is its data directory, ``dump`` its database as SQL."""

    def __init__(self, folder: Path, facts: Facts) -> None:
        self.facts = facts
        self.data = folder / "data"
        self.dump = folder / "database.sql"


def unpacked(name: str, folder: Path) -> Kept:
    """Unpack what is kept of a version into ``folder``, which the servers must be able to read."""
    # Modes stay as they were: PostgreSQL refuses a directory that others may read.
    unpack(KEPT / f"{name}.tar.xz", folder, kept="tar")
    for store in ("postgres", "valkey"):
        place = folder / "data" / store
        if place.exists():
            own_directory(place)  # the account that servers run as, where that is not this one
            owner = place.stat()
            for path in place.rglob("*"):
                os.chown(path, owner.st_uid, owner.st_gid)
    return Kept(folder, msgspec.json.decode((folder / "facts.json").read_bytes(), type=Facts))


def variables(folder: Path, clock: SetClock, root: Path = ROOT) -> dict[str, str]:
    """Return what lets a service, and the servers that it starts, go by ``clock``: ``root`` has its code.

    They begin with settings that all versions know, and the chain key of what is kept.
    """
    customized = folder / f"customized-{root.name}"
    customized.mkdir(exist_ok=True)
    (customized / "sitecustomize.py").write_text(_SERVERS_TAKE_THE_CLOCK)
    return clock.variables | settings(root) | {"PYTHONPATH": f"{customized}{os.pathsep}{root}"}


def settings(root: Path = ROOT) -> dict[str, str]:
    """Return the settings that all versions know, and the path of the code below ``root``."""
    return {
        "PYTHONPATH": str(root),
        "PORTCULLIS_ADMIN_PASSWORD": PASSWORD,
        "PORTCULLIS_OPLOG__CHAIN_KEY": CHAIN_KEY,
        "PORTCULLIS_THROTTLE__ENABLED": "false",
    }


def turn_back(clock: SetClock, facts: Facts) -> None:
    """Set the clock to an hour after the installation was stopped, however long ago that is."""
    clock.set(facts.made_at + HOUR - int(time.time()))


class Program:
    """The program of an earlier version, below ``root``, with the packages that it was released with."""

    def __init__(self, name: str, folder: Path) -> None:
        """Check out and install; skips the test where the history or the packages can't be had."""
        self.root = folder / f"program-{name}"
        self._unknown = () if name in _WITH_INITIAL_PASSWORDS else ("PORTCULLIS_PASSWORD__INITIAL",)
        archive = subprocess.run(
            ["git", "-C", str(ROOT), "archive", "--format=tar", COMMITS[name]],
            capture_output=True,
            check=False,
        )
        if archive.returncode:
            pytest.skip(f"this checkout does not have the history of {name}")
        self.root.mkdir()
        subprocess.run(["tar", "-x", "-C", str(self.root)], input=archive.stdout, check=True)
        (self.root / ".tools").mkdir()
        for uv in (ROOT / ".tools").glob("uv-*"):
            (self.root / ".tools" / uv.name).symlink_to(uv)
        # By the script of that version. The Python of an environment has no pip.
        installed = subprocess.run(
            [sys._base_executable, "dev.py", "portcullis", "--version"],  # type: ignore[attr-defined]
            cwd=self.root,
            capture_output=True,
            text=True,
            check=False,
        )
        if installed.returncode:
            pytest.skip(f"the packages of {name} can't be installed: {installed.stderr[-300:]}")

    def words(self, *arguments: str) -> list[str]:
        """Return the words that run its command line."""
        return [str(self.root / ".venv/bin/python"), *command(*arguments)[1:]]

    def known(self, environ: Mapping[str, str]) -> dict[str, str]:
        """Leave out the settings of today that this version refuses as unknown."""
        return {name: value for name, value in environ.items() if name not in self._unknown}

    def run(self, folder: Path, *arguments: str, **variables: str) -> str:
        """Run a command to its end; returns its standard output, CalledProcessError when it fails."""
        return subprocess.run(
            self.words(*arguments),
            cwd=folder,
            env=self.known(environment(folder, **variables)),
            capture_output=True,
            text=True,
            check=True,
        ).stdout


class Node(Running):
    """A running service of an earlier version, with one worker."""

    process: subprocess.Popen[bytes]

    def __init__(self, program: Program, folder: Path, *options: str, **variables: str) -> None:
        self._program = program
        super().__init__(folder, "--workers", "1", *options, **variables)

    def _start(self, folder: Path, words: tuple[str, ...], environ: dict[str, str]) -> None:
        with self._out.open("wb") as out, self._err.open("wb") as err:
            self.process = subprocess.Popen(
                self._program.words(*words),
                cwd=folder,
                env=self._program.known(environ),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
            )
