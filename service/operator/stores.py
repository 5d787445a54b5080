"""The stores of a start: external if the settings name them, else embedded."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from service.operator import installation
from service.operator.embedded import embedded
from service.operator.errors import NoInstallationError
from service.settings import (
    Settings,
    local_factor_key,
    local_previous,
    local_previous_factor_key,
    local_secret,
)

_SECRET_BYTES = 64  # enough for HS512, RFC 7518 §3.2


@dataclass(frozen=True, slots=True)
class Stores:
    """The settings with every store and secret filled in, and the stores' names for the banner."""

    settings: Settings
    database: str
    sessions: str


@contextmanager
def running(settings: Settings) -> Iterator[Stores]:
    """Start embedded stores for those that ``settings`` do not name; yield the settings for the workers.

    Raises ``EmbeddedError`` if the data directory is in use or a server does not start.
    """
    if settings.database.url and settings.redis.url:
        yield Stores(settings, "external PostgreSQL", "external session store")
        return
    data = settings.server.data
    started = embedded().started(
        data, with_postgres=not settings.database.url, with_valkey=not settings.redis.url
    )
    with started as running_stores:
        yield Stores(
            _filled(settings, running_stores.database_url, running_stores.redis_url),
            "external PostgreSQL" if settings.database.url else f"embedded PostgreSQL in {data}",
            "external session store" if settings.redis.url else f"embedded Valkey in {data}",
        )


def with_secret(settings: Settings) -> Settings:
    """Return ``settings`` with the local secrets where none is set: of tokens, and of second factors.

    There is a secret of tokens if all stores are embedded, and a key of second factors beside an embedded
    database. With an external store, loading the settings has already refused a missing secret of tokens.
    """
    auth, data = settings.auth, settings.server.data
    if not settings.database.url and not auth.factor_key:
        auth = replace(
            auth, factor_key=local_factor_key(data), factor_previous_key=local_previous_factor_key(data)
        )
    if not settings.external and not auth.jwt_secret and auth.jwt_algorithm.startswith("HS"):
        auth = replace(auth, jwt_secret=local_secret(data, _SECRET_BYTES))
        if not auth.jwt_previous_secret and (previous := local_previous(data)) is not None:
            auth = replace(auth, jwt_previous_secret=previous[0], jwt_previous_until=previous[1])
    return replace(settings, auth=auth)


@contextmanager
def reachable(settings: Settings, *, create: bool = False) -> Iterator[Settings]:
    """Yield ``settings`` with the URLs of running stores and the local secrets, for a command.

    The embedded stores of a running service are used; without one they are started for the command, and with
    ``create`` made where there are none. Raises ``NoInstallationError`` without ``create``, and
    ``SettingsError`` for a local secret that can't be used.
    """
    if not create and not installation.is_there(settings):
        raise NoInstallationError(installation.missing(settings))
    urls = embedded().urls_of_running(settings.server.data)
    if urls is None:
        with running(settings) as stores:
            yield past_pooler(stores.settings)
        return
    yield past_pooler(_filled(settings, *urls))


def _filled(settings: Settings, database_url: str, redis_url: str) -> Settings:
    """Return ``settings`` with the URLs of embedded stores where they name none, and the local secrets.

    All at once: settings with both URLs look like those of external stores, which have no local secret.
    """
    return replace(
        settings,
        database=replace(settings.database, url=settings.database.url or database_url),
        redis=replace(settings.redis, url=settings.redis.url or redis_url),
        auth=with_secret(settings).auth,
    )


def past_pooler(settings: Settings) -> Settings:
    """Return ``settings`` with the URL of the database server itself, for work that needs its own session."""
    database = settings.database
    if not database.direct_url:
        return settings
    return replace(settings, database=replace(database, url=database.direct_url))
