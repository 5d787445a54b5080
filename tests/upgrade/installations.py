"""Today's service on what an earlier version has left, in either of the two ways in which that is moved."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from service.features.embedded import program
from service.features.embedded.program import postgres_program
from service.features.embedded.stores import EmbeddedStores
from tests.support.running import Running, command, environment, running_anew
from tests.support.set_clock import SetClock, open_folder
from tests.upgrade.earlier import Facts, Kept, turn_back, unpacked, variables


@dataclass(frozen=True)
class Upgraded:
    """A running service of today over the records of an earlier version."""

    facts: Facts
    service: Running
    folder: Path
    variables: dict[str, str]

    def command(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a command of today, by the same settings and clock, while the service runs."""
        return subprocess.run(
            command(*arguments),
            cwd=self.folder,
            env=environment(self.folder, **self.variables),
            capture_output=True,
            text=True,
            check=False,
        )


@contextmanager
def on_data_directory(name: str) -> Iterator[Upgraded]:
    """Start today's service on the data directory of a version, with the servers that it holds."""
    with open_folder() as folder:
        kept, clock = unpacked(name, folder), SetClock(folder)
        turn_back(clock, kept.facts)
        values = variables(folder, clock) | {"PORTCULLIS_SERVER__DATA": str(kept.data)}
        with running_anew(folder, "--workers", "1", **values) as service:
            yield Upgraded(kept.facts, service, folder, values)


@contextmanager
def on_dump(name: str, **settings: str) -> Iterator[Upgraded]:
    """Restore the dump of a version into a new PostgreSQL, and start today's service on it.

    The session store is a server of its own as well, which starts on the files of the earlier one.
    ``settings`` are further variables of today's service.
    """
    with open_folder() as folder, pytest.MonkeyPatch.context() as patch:
        kept, clock = unpacked(name, folder), SetClock(folder)
        turn_back(clock, kept.facts)
        environment = program.server_environment()
        patch.setattr(program, "server_environment", lambda: environment | clock.variables)
        place = folder / "stores"
        place.mkdir(mode=0o700)
        (kept.data / "valkey").rename(place / "valkey")
        with EmbeddedStores(place) as stores:
            restore(kept, stores.database_url)
            values = variables(folder, clock) | secrets(kept)
            values |= {"DATABASE_URL": stores.database_url, "REDIS_URL": stores.redis_url}
            values |= {"PORTCULLIS_SERVER__DATA": str(kept.data)} | settings  # its files
            with running_anew(folder, "--workers", "1", **values) as service:
                yield Upgraded(kept.facts, service, folder, values)


def restore(kept: Kept, url: str) -> None:
    """Run the SQL of the dump; AssertionError at the first statement that fails."""
    run_dump(kept.dump, url)


def run_dump(dump: Path, url: str) -> None:
    """Run the SQL of a dump; AssertionError at the first statement that fails."""
    words = [str(postgres_program("psql")), "-X", "-q", "-v", "ON_ERROR_STOP=1", "-f", str(dump), url]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def secrets(kept: Kept) -> dict[str, str]:
    """Return the signing keys of the data directory as an operator with stores of one's own sets them."""
    previous, until = (kept.data / "jwt_previous_secret").read_text().split()
    return {
        "JWT_SECRET": (kept.data / "jwt_secret").read_text().strip(),
        "PORTCULLIS_AUTH__JWT_PREVIOUS_SECRET": previous,
        "PORTCULLIS_AUTH__JWT_PREVIOUS_UNTIL": until,
    }
