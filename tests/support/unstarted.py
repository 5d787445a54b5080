"""The parts of a worker that was never started, and so has no connection to anything."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from service.app import Container
from service.authz.publishing.shipped import read_shipped
from service.settings import Settings


@contextmanager
def unstarted() -> Iterator[Container]:
    """Yield a container whose stores are nowhere."""
    settings = Settings()
    nowhere = replace(
        settings,
        database=replace(settings.database, url="postgresql:///"),
        redis=replace(settings.redis, url="unix:///dev/null"),
        auth=replace(settings.auth, jwt_secret=secrets.token_hex(32)),
        policy=replace(settings.policy, decision_log="stdout"),
    )
    container = Container(nowhere, read_shipped())
    try:
        yield container
    finally:
        container.passwords.close()
