"""A service in the test's own process, and one of four workers in processes of its own."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from service.embedded import EmbeddedStores
from tests.support.databases import database
from tests.support.inside_fixtures import _shared, service, shared
from tests.support.running import Running, portcullis, running

__all__ = ["_shared", "service", "shared"]

PASSWORD = "portals, hinges & bolts"


@dataclass(frozen=True)
class Workers:
    """A running service and its database; everybody's password is ``PASSWORD``."""

    service: Running
    database_url: str


@pytest.fixture(scope="package")
def workers(stores: EmbeddedStores, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workers]:
    """Four workers; beside the administrator there are ``newcomer``, without any right, and ``reader``."""
    folder = tmp_path_factory.mktemp("workers")
    with database(stores, name="four_workers") as url:
        redis_url, secret = f"{stores.redis_url}?db=7", secrets.token_urlsafe(48)
        variables = {"DATABASE_URL": url, "REDIS_URL": redis_url, "JWT_SECRET": secret}
        password = {"PORTCULLIS_ADMIN_PASSWORD": PASSWORD}
        with running(folder, "--workers", "4", **variables, **password) as found:
            for arguments in (("newcomer",), ("reader", "--role", "auditor")):
                done = portcullis(folder, "admin", "create", *arguments, given=f"{PASSWORD}\n", **variables)
                assert done.status == 0, done.errors
            yield Workers(found, url)
