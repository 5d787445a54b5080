"""The parts of login on real stores, with keys made for the test."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from functools import cache

import pytest
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from service.authn import signing_keys
from service.authn.authenticate import Authenticator
from service.authn.opening import SessionOpening
from service.authn.password_rules import InitialPasswords
from service.authn.passwords import Passwords
from service.authn.refresh import Refresh
from service.authn.throttle import Throttle
from service.authn.token_issuer import TokenIssuer
from service.authn.tokens import Tokens
from service.features.embedded.stores import EmbeddedStores
from service.features.notices.notices import Notices
from service.features.second_factors.parts import CheckedFactors
from service.features.service_accounts.callers import ApiKeyCallers
from service.kernel.permission_map import PermissionMap
from service.keyspace import SessionStore
from service.records.database.transactions import Database
from service.settings import Auth, Password, Redis, Settings
from service.settings import Throttle as ThrottleSettings
from tests.support.cheap_hashes import COSTS
from tests.support.databases import NewDatabase, database

SECRET = "9vKq-2mZ_8sLw4TtR7yXc1Ff6Gh0JbNnPpDdEe5AaUu3IiOoQqWwZzSsMmLlKkHh"


@dataclass
class Container:
    """Everything between a request and the stores."""

    settings: Auth
    database: Database
    store: SessionStore
    passwords: Passwords
    initial: InitialPasswords
    tokens: Tokens
    pairs: TokenIssuer
    opening: SessionOpening
    refresh: Refresh
    api_keys: ApiKeyCallers
    authenticator: Authenticator


@pytest.fixture(scope="package", autouse=True)
def _keys_read_once() -> Iterator[None]:
    """Read each private key once: checking an RSA key takes 40 ms of processor time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(signing_keys, "load_pem_private_key", cache(load_pem_private_key))
        yield


@pytest.fixture
def auth() -> Auth:
    return Auth(jwt_secret=SECRET)


@pytest.fixture
def permission_map() -> PermissionMap:
    return PermissionMap({"*": 0, "system:user:list": 9})


@pytest.fixture(scope="session")
def shared_database_url(stores: EmbeddedStores, published_template: str) -> Iterator[str]:
    """The URL of one seeded database for all tests that leave the users as they are."""
    with database(stores, published_template) as url:
        yield url


@pytest.fixture
def own_database(new_database: NewDatabase, published_template: str) -> str:
    """Give ``parts`` a database of the test's own, to change users in."""
    return new_database(published_template)


def second_factors(database: Database, store: SessionStore) -> CheckedFactors:
    """Return what asks for second factors, where there is neither a key for them nor an address."""
    return CheckedFactors(Settings(), database, store, Notices())


@pytest.fixture
async def parts(
    auth: Auth, redis_url: str, permission_map: PermissionMap, request: pytest.FixtureRequest
) -> AsyncIterator[Container]:
    """Everything, on the shared database unless the test uses ``own_database``."""
    own = "own_database" in request.fixturenames
    async with (
        Database(request.getfixturevalue("own_database" if own else "shared_database_url")) as users,
        SessionStore(Redis(url=redis_url), auth) as store,
    ):
        settings = Password(**COSTS, initial=False)
        passwords, initial = Passwords(settings), InitialPasswords(settings)
        tokens = Tokens(auth, store.synchronized.now)
        callers = ApiKeyCallers(users, store, Throttle(ThrottleSettings(), store.counters))
        pairs = TokenIssuer(users, tokens, lambda: permission_map, initial)
        yield Container(
            auth,
            users,
            store,
            passwords,
            initial,
            tokens,
            pairs,
            SessionOpening(users, store, pairs, second_factors(users, store)),
            Refresh(users, store, tokens, pairs, notices=Notices()),
            callers,
            Authenticator(auth, tokens, store, callers),
        )
        await callers.finish()
        passwords.close()
