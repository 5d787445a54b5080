"""The embedded stores of a data directory, as the feature that starts them provides them."""

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from service.kernel.feature import sole


class RunningStores(Protocol):
    """Stores that have started."""

    @property
    def database_url(self) -> str:
        """The URL of the database, for libpq."""

    @property
    def redis_url(self) -> str:
        """The URL of the key-value store."""


class Embedded(Protocol):
    """Operations on the embedded stores of a data directory."""

    def has_database(self, data: Path) -> bool:
        """Return whether ``data`` has a database; raises OSError if this user may not know."""

    def urls_of_running(self, data: Path) -> tuple[str, str] | None:
        """Return the URLs of the stores that another process runs over ``data``; None if none does."""

    def started(
        self, data: Path, *, with_postgres: bool, with_valkey: bool
    ) -> AbstractContextManager[RunningStores]:
        """Run stores over ``data`` as long as the context lasts; raises ``EmbeddedError``."""


def embedded() -> Embedded:
    """Return the provider that starts and finds embedded stores."""
    provider: Embedded = sole("embedded-stores")
    return provider
