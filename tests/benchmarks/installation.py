"""The service that benchmarks measure: its variables, and somebody who may call it."""

import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import httpx
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from service.features.embedded.stores import EmbeddedStores
from service.features.service_accounts import store
from service.features.service_accounts.form import HINT, ApiKey, new_secret
from service.kernel.identity import NewAccount, Target
from service.records import accounts, user_list
from service.records.database.transactions import Database
from service.server.prepare import check, prepare
from service.settings import Settings, load
from tests.benchmarks.servers import Server, serving_worker
from tests.support.seeded import ADMINISTRATOR, ADMINISTRATOR_PASSWORD

IDLE: Final = {"PORTCULLIS_EXTENSIONS": "tests.benchmarks.idle_extension"}
"""Adds endpoints that do nothing behind the guard."""


def install(environ: Mapping[str, str]) -> None:
    """Prepare database and policy as a start does; the administrator has ``ADMINISTRATOR_PASSWORD``."""
    settings = load(environ)
    prepare(settings, ADMINISTRATOR_PASSWORD, check(settings))


def environment(stores: EmbeddedStores, place: Path, algorithm: str = "HS256") -> dict[str, str]:
    """Return the variables of a service on ``stores`` with tokens of ``algorithm``."""
    environ = {
        "DATABASE_URL": stores.database_url,
        "REDIS_URL": stores.redis_url,
        "PORTCULLIS_CONFIG": "",
        "PORTCULLIS_SERVER__DATA": str(place / "service"),
        "PORTCULLIS_AUTH__JWT_ALGORITHM": algorithm,
        "PORTCULLIS_LOG__FORMAT": "json",
        "PORTCULLIS_PASSWORD__INITIAL": "false",  # all log in with the password that they were made with
    }
    if algorithm.startswith("HS"):
        return environ | {"JWT_SECRET": secrets.token_hex(32)}
    return {**environ, **_key_pair(place)}


def _key_pair(place: Path) -> Mapping[str, str]:
    key = Ed25519PrivateKey.generate()
    private, public = place / "private.pem", place / "public.pem"
    private.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    private.chmod(0o600)
    public.write_bytes(key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    return {
        "PORTCULLIS_AUTH__JWT_PRIVATE_KEY": str(private),
        "PORTCULLIS_AUTH__JWT_PUBLIC_KEY": str(public),
    }


def access_token(environ: Mapping[str, str]) -> str:
    """Log the administrator in at a worker of the service, and return the access token."""
    with serving_worker(environ) as server:
        return log_in(server)


def log_in(server: Server, user_name: str = ADMINISTRATOR, password: str = ADMINISTRATOR_PASSWORD) -> str:
    """Log somebody in at ``server``, the administrator unless named, and return the access token."""
    credentials = {"userName": user_name, "password": password}
    url = f"http://127.0.0.1:{server.port}/api/auth/login"
    answer = httpx.post(url, json=credentials, trust_env=False, timeout=30).raise_for_status()
    token: str = answer.json()["data"]["accessToken"]
    return token


async def api_key(settings: Settings) -> str:
    """Write a service account in the administrator's role, and return an API key of it."""
    database, secret = Database(settings.database.url), new_secret()
    try:
        async with database.transaction() as connection:
            (role_id,) = (await user_list.role_ids(connection, ["super"])).values()
            name = f"robot-{secret[:8].lower()}"
            values = {"user_name": name, "nick_name": name, "kind": "service"}
            user_id = await accounts.create(connection, None, NewAccount(values), [role_id])
            stored = await store.add(
                connection,
                Target(user_id, "others"),
                key_name="bench",
                hint=secret[:HINT],
                digest=ApiKey(0, secret).digest_of("service"),
                scopes=None,
                seconds=None,
                created_by=1,
            )
    finally:
        await database.close()
    return str(ApiKey(stored.id, secret))
