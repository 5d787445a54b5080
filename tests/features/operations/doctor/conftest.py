"""Installations to look at, each with what an operator could have got wrong."""

import asyncio
import secrets
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TypeAlias

import psycopg
import pytest

from service.authz.publishing.shipped import Shipped
from service.authz.publishing.sync import KnownRoute
from service.features.embedded.stores import EmbeddedStores
from service.features.operations.checks import checks_for
from service.features.operations.commands_doctor import diagnose
from service.features.operations.diagnosis.examination import examine
from service.operator.findings import Finding
from service.operator.known_routes import known_routes
from service.settings import load
from tests.support.databases import database

Look: TypeAlias = Callable[..., dict[str, Finding]]
"""Looks at an installation whose settings are as given; returns each finding by the name of its check."""
LookAt: TypeAlias = Callable[..., Finding]
"""Makes the one check that is named, of the same installation; returns its finding."""


def variables_of(database_url: str, redis_url: str, data: Path) -> dict[str, str]:
    return {
        "PORTCULLIS_CONFIG": "",
        "PORTCULLIS_SERVER__DATA": str(data),
        "DATABASE_URL": database_url,
        "REDIS_URL": redis_url,
        "JWT_SECRET": secrets.token_urlsafe(64),
    }


def no_routes(_shipped: Shipped) -> list[KnownRoute]:
    """Return no route: for checks that need none."""
    return []


def execute(database_url: str, statement: str) -> None:
    with psycopg.connect(database_url) as connection:
        connection.execute(statement.encode())


@pytest.fixture
def database_url(stores: EmbeddedStores, published_template: str) -> Iterator[str]:
    """A published database of the test's own."""
    with database(stores, published_template) as url:
        yield url


@pytest.fixture
def look(database_url: str, redis_url: str, tmp_path: Path) -> Look:
    """Look at a whole installation, with other variables in place of its own where any are given."""

    def diagnosed(**variables: str) -> dict[str, Finding]:
        return dict(diagnose(variables_of(database_url, redis_url, tmp_path / "data") | variables))

    return diagnosed


@pytest.fixture
def look_at(database_url: str, redis_url: str, tmp_path: Path) -> LookAt:
    """Make one check of an installation, with other variables in place of its own where any are given."""

    def diagnosed(name: str, **variables: str) -> Finding:
        environ = variables_of(database_url, redis_url, tmp_path / "data") | variables
        settings = load(environ)
        check = next(check for check in checks_for() if check.name == name)
        routes = partial(known_routes, settings)
        ((_, finding),) = asyncio.run(examine(environ, settings, routes, [check]))
        return finding

    return diagnosed
