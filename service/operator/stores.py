"""The stores of a start: external if the settings name them, else embedded."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from service.embedded import EmbeddedStores, urls_of_running
from service.settings import Settings, local_previous, local_secret

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
    embedded = EmbeddedStores(
        data, with_postgres=not settings.database.url, with_valkey=not settings.redis.url
    )
    with embedded:
        database = replace(settings.database, url=settings.database.url or embedded.database_url)
        redis = replace(settings.redis, url=settings.redis.url or embedded.redis_url)
        filled = replace(settings, database=database, redis=redis, auth=with_secret(settings).auth)
        yield Stores(
            filled,
            "external PostgreSQL" if settings.database.url else f"embedded PostgreSQL in {data}",
            "external session store" if settings.redis.url else f"embedded Valkey in {data}",
        )


def with_secret(settings: Settings) -> Settings:
    """Return ``settings`` with the local signing secrets if none is set and all stores are embedded.

    With an external store, loading the settings has already refused a missing secret.
    """
    auth = settings.auth
    if settings.external or auth.jwt_secret or not auth.jwt_algorithm.startswith("HS"):
        return settings
    secret = local_secret(settings.server.data, _SECRET_BYTES)
    filled = replace(auth, jwt_secret=secret)
    if not auth.jwt_previous_secret and (previous := local_previous(settings.server.data)) is not None:
        filled = replace(filled, jwt_previous_secret=previous[0], jwt_previous_until=previous[1])
    return replace(settings, auth=filled)


@contextmanager
def reachable(settings: Settings) -> Iterator[Settings]:
    """Yield ``settings`` with the URLs of running stores, for a command.

    The embedded stores of a running service are used; without one they are started for the command.
    """
    urls = urls_of_running(settings.server.data)
    if urls is None:
        with running(settings) as stores:
            yield past_pooler(stores.settings)
        return
    database = replace(settings.database, url=settings.database.url or urls[0])
    redis = replace(settings.redis, url=settings.redis.url or urls[1])
    yield past_pooler(replace(settings, database=database, redis=redis))


def past_pooler(settings: Settings) -> Settings:
    """Return ``settings`` with the URL of the database server itself, for work that needs its own session."""
    database = settings.database
    if not database.direct_url:
        return settings
    return replace(settings, database=replace(database, url=database.direct_url))
