"""Two workers of one service in the test's own process, and service accounts with keys."""

import itertools
import secrets
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest

from service.features.embedded.stores import EmbeddedStores
from service.features.service_accounts.form import ApiKey, new_secret
from tests.authn.conftest import (  # noqa: F401 - fixtures
    auth,
    own_database,
    parts,
    permission_map,
    shared_database_url,
)
from tests.support.databases import database
from tests.support.inside import Inside, inside_published
from tests.support.members import ids_of, query
from tests.web.driver import Answer

_numbers = itertools.count(1)

ACCOUNT = (
    "INSERT INTO sys.user (user_name, user_name_key, nick_name, kind) VALUES (%s, %s, %s, 'service')"
    " RETURNING id"
)
ROLE = "INSERT INTO sys.role (role_name, role_name_key, role_code) VALUES (%s, %s, %s) RETURNING id"
KEY = (
    "INSERT INTO sys.api_key (user_id, key_name, hint, digest, scopes, created_by, expire_time)"
    " VALUES (%s, 'ci', 'none', %s, %s, 1, now() + make_interval(secs => %s)) RETURNING id"
)


@dataclass
class Account:
    """A service account with a role of its own."""

    id: int
    role_id: int
    name: str


class Workers:
    """Two workers on the same stores."""

    def __init__(self, first: Inside, second: Inside) -> None:
        self.first = first
        self.second = second

    async def account(self, *codes: str) -> Account:
        """Write a service account that holds ``codes``."""
        name = f"robot-{next(_numbers)}"
        ((user_id,),) = await query(self.first, ACCOUNT, name, name, name)
        ((role_id,),) = await query(self.first, ROLE, name, name, name)
        await query(self.first, "INSERT INTO sys.user_role VALUES (%s, %s)", user_id, role_id)
        for menu_id in await ids_of(self.first, *codes):
            await query(self.first, "INSERT INTO sys.role_menu VALUES (%s, %s)", role_id, menu_id)
        return Account(user_id, role_id, name)

    async def key(
        self, account: Account, *, scopes: list[str] | None = None, seconds: float | None = None
    ) -> str:
        """Write a key past the API."""
        secret = new_secret()
        digest = ApiKey(1, secret).digest_of("service")
        ((key_id,),) = await query(self.first, KEY, account.id, digest, scopes, seconds)
        return str(ApiKey(key_id, secret))

    async def ask(self, key: str, target: str = "/api/role/list") -> tuple[Answer, Answer]:
        """Send a request to each worker."""
        return (
            await self.first.ask("GET", target, token=key),
            await self.second.ask("GET", target, token=key),
        )

    async def statuses(self, key: str, target: str = "/api/role/list") -> list[int]:
        """Return the status that each worker answers."""
        return [answer.status for answer in await self.ask(key, target)]


@pytest.fixture(scope="module")
async def _workers(
    stores: EmbeddedStores, published_template: str, module_redis_url: str
) -> AsyncIterator[Workers]:
    one_key = {"JWT_SECRET": secrets.token_urlsafe(48)}
    with database(stores, published_template) as url:
        async with (
            inside_published(url, module_redis_url, **one_key) as first,
            inside_published(url, module_redis_url, **one_key) as second,
        ):
            yield Workers(first, second)


@pytest.fixture
async def workers(_workers: Workers) -> Workers:
    """Two workers, and the administrator logged in at both."""
    _workers.first.token = _workers.second.token = await _workers.first.log_in()
    return _workers
