"""What it costs to be guarded: one GET with everything on, against bare Falcon, in one run.

The guarded one is asked with an access token and with an API key.

Each server has one worker on one core, and the load comes from another. Rounds alternate, and each ratio is
that of two neighbouring rounds, so that a machine whose speed drifts does no harm.
"""

# ruff: noqa: T201 - it talks to a person at a terminal

from __future__ import annotations

import asyncio
import secrets
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import uvloop
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from service.authn.api_keys.form import HINT, ApiKey, new_secret
from service.authn.login import Login
from service.authn.passwords import Passwords
from service.authn.token_issuer import TokenIssuer
from service.authn.tokens import Tokens
from service.authz.publishing.live import LivePolicy
from service.authz.publishing.shipped import read_shipped
from service.embedded import EmbeddedStores
from service.kernel.target import Target
from service.keyspace import SessionStore
from service.launch.prepare import publish_policy
from service.records.database.transactions import Database
from service.records.users import api_keys, edits, user_tables
from service.settings import Settings, load
from tests.benchmarks.guarded_apps import TEMPLATE
from tests.benchmarks.load import rate, request_bytes
from tests.benchmarks.servers import Server, pin_to_last_core, serving
from tests.support.seeded import ADMINISTRATOR, ADMINISTRATOR_PASSWORD, seed_database

APPS = "tests.benchmarks.guarded_apps"
ROUNDS = 5
SECONDS = 3.0
CONNECTIONS = 64
LIMIT = 0.5


def main() -> None:
    """Print requests a second and the ratio, for HS256 and EdDSA tokens."""
    with tempfile.TemporaryDirectory(prefix="pc-") as folder:
        place = Path(folder)
        with EmbeddedStores(place / "data", durable=False) as stores:
            seed_database(stores.database_url)
            pin_to_last_core()
            for algorithm in ("HS256", "EdDSA"):
                _compare(algorithm, environment(stores, place, algorithm))


def _compare(algorithm: str, environ: Mapping[str, str]) -> None:
    settings = load(environ)
    publish_policy(settings, read_shipped())
    token, key = asyncio.run(token_of(settings)), asyncio.run(_key(settings))
    with ExitStack() as stack:
        bare = stack.enter_context(serving(f"{APPS}:bare", environ))
        guarded = stack.enter_context(serving(f"{APPS}:guarded", environ))
        rounds = [
            (
                measure(bare, request_bytes(TEMPLATE, bare.port)),
                measure(guarded, request_bytes(TEMPLATE, guarded.port, Authorization=f"Bearer {token}")),
                measure(guarded, request_bytes(TEMPLATE, guarded.port, Authorization=f"Bearer {key}")),
            )
            for _ in range(ROUNDS)
        ]
    print(f"{algorithm}: {CONNECTIONS} connections, {ROUNDS} rounds of {SECONDS:.0f} s each")
    for column, name in enumerate(("bare Falcon", "guarded", "by API key")):
        rates = median(one[column].rate for one in rounds)
        cpu = median(one[column].cpu for one in rounds)
        print(f"  {name:<12} {rates:9,.0f} requests/s   {cpu:5.1f} µs of processor time each")
    _print_ratio("requests/s", [with_all.rate / alone.rate for alone, with_all, _ in rounds])
    _print_ratio("processor time", [alone.cpu / with_all.cpu for alone, with_all, _ in rounds])


def _print_ratio(of: str, ratios: list[float]) -> None:
    kept = "is kept" if median(ratios) >= LIMIT else "is NOT kept"
    spread = f"{min(ratios):.2f} to {max(ratios):.2f}"
    print(f"  ratio by {of}: {median(ratios):.2f} ({spread}); at least {LIMIT} {kept}", flush=True)


@dataclass(frozen=True)
class Round:
    """What was measured: requests a second, and microseconds of processor time of each."""

    rate: float
    cpu: float


def measure(server: Server, request: bytes) -> Round:
    """Return how many requests ``server`` answers in a second, and the processor time of each."""
    before = server.cpu_seconds()
    answered = uvloop.run(rate(server.port, request, connections=CONNECTIONS, seconds=SECONDS))
    return Round(answered, (server.cpu_seconds() - before) / (answered * SECONDS) * 1e6)


async def token_of(settings: Settings) -> str:
    """Log the administrator in, as the service would, and return the access token."""
    database = Database(settings.database.url)
    store = SessionStore(settings.redis, settings.auth)
    passwords = Passwords(settings.password)
    live = LivePolicy(read_shipped())
    try:
        await live.load(database)
        pairs = TokenIssuer(Tokens(settings.auth), lambda: live.current.permission_map)
        login = Login(database, store, passwords, pairs)
        pair = await login.login(ADMINISTRATOR, ADMINISTRATOR_PASSWORD, "web", "127.0.0.1", "bench")
    finally:
        passwords.close()
        await store.close()
        await database.close()
    return pair.access_token


async def _key(settings: Settings) -> str:
    """Write a service account in the administrator's role, and return an API key of it."""
    database, secret = Database(settings.database.url), new_secret()
    try:
        async with database.transaction() as connection:
            (role_id,) = (await user_tables.role_ids(connection, ["super"])).values()
            name = f"robot-{secret[:8].lower()}"
            values = {"user_name": name, "nick_name": name, "kind": "service"}
            user_id = await edits.create(connection, None, values, [role_id])
            stored = await api_keys.add(
                connection,
                Target(user_id),
                key_name="bench",
                hint=secret[:HINT],
                digest=ApiKey(0, secret).digest,
                scopes=None,
                seconds=None,
                created_by=1,
            )
    finally:
        await database.close()
    return str(ApiKey(stored.id, secret))


def environment(stores: EmbeddedStores, place: Path, algorithm: str) -> dict[str, str]:
    """Return the variables of a service on ``stores`` with tokens of ``algorithm``."""
    environ = {
        "DATABASE_URL": stores.database_url,
        "REDIS_URL": stores.redis_url,
        "PORTCULLIS_SERVER__DATA": str(place / "service"),
        "PORTCULLIS_AUTH__JWT_ALGORITHM": algorithm,
        "PORTCULLIS_LOG__FORMAT": "json",
    }
    if algorithm.startswith("HS"):
        return environ | {"JWT_SECRET": secrets.token_hex(32)}
    key = Ed25519PrivateKey.generate()
    private, public = place / "private.pem", place / "public.pem"
    private.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    private.chmod(0o600)
    public.write_bytes(key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    return environ | {
        "PORTCULLIS_AUTH__JWT_PRIVATE_KEY": str(private),
        "PORTCULLIS_AUTH__JWT_PUBLIC_KEY": str(public),
    }
