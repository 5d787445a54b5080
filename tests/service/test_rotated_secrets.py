"""Secrets are replaced node by node while sessions go on (docs/guides/replace-secrets.md)."""

import secrets
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qs, urlsplit

import psycopg
import pytest
import redis

from service.features.embedded.stores import EmbeddedStores
from tests.docs.blocks import blocks
from tests.support.inside import Inside, inside
from tests.support.running import ROOT
from tests.support.waiting import eventually

GUIDE = ROOT / "docs" / "guides" / "replace-secrets.md"
ADD_PASSWORD, REMOVE_PASSWORD = (block.text for block in blocks(GUIDE) if block.kind == "")
MAKE_ROLE, WHO_USES_IT, CLOSE_ROLE = (block.text for block in blocks(GUIDE) if block.kind == "sql")


def socket_of(url: str) -> str:
    parts = urlsplit(url)
    return parts.path or parse_qs(parts.query)["path"][0]


@pytest.fixture
def store_user(redis_url: str) -> Iterator[redis.Redis]:
    """Make the user of the guide with its old password; what is yielded administers it."""
    with redis.Redis.from_url(redis_url) as client:
        client.execute_command("ACL", "SETUSER", "portcullis", "on", ">old-password", "~*", "&*", "+@all")
        try:
            yield client
        finally:
            client.execute_command("ACL", "DELUSER", "portcullis")


async def logged_in(node: Inside) -> dict[str, str]:
    """Return the tokens of a new user; each start of a node here logs the administrator in again."""
    person = {"userName": "wanda", "nickName": "Wanda", "password": "three wary herons"}
    await node.data("POST", "/api/user", person)
    answer = await node.ask(
        "POST", "/api/auth/login", {name: person[name] for name in ("userName", "password")}
    )
    tokens: dict[str, str] = answer.json["data"]
    return tokens


async def works(node: Inside, token: str) -> bool:
    return (await node.ask("GET", "/api/user/info", token=token)).status == 200


async def test_a_password_of_the_session_store_is_replaced_while_both_are_valid(
    store_user: redis.Redis, redis_url: str, seeded_database_url: str
) -> None:
    secret = {"JWT_SECRET": secrets.token_urlsafe(48)}
    old, new = (f"unix://portcullis:{kind}-password@{socket_of(redis_url)}" for kind in ("old", "new"))
    async with inside(seeded_database_url, old, **secret) as before:
        token = (await logged_in(before))["accessToken"]
        store_user.execute_command(*ADD_PASSWORD.split())  # type: ignore[no-untyped-call]
        async with inside(seeded_database_url, new, **secret) as after:
            assert await works(before, token)
            assert await works(after, token)
            store_user.execute_command(*REMOVE_PASSWORD.split())  # type: ignore[no-untyped-call]
            with pytest.raises(redis.AuthenticationError):
                redis.Redis.from_url(old).ping()
            assert await works(after, token)
            assert await works(before, token)  # by the connections that it has


async def test_the_database_s_account_is_replaced_by_another_of_the_same_owner(
    stores: EmbeddedStores, redis_url: str, seeded_database_url: str
) -> None:
    secret = {"JWT_SECRET": secrets.token_urlsafe(48)}
    name = urlsplit(seeded_database_url).path.lstrip("/")
    later = seeded_database_url.replace("//portcullis@", "//portcullis_b:new-password@")
    assert later != seeded_database_url
    with psycopg.connect(stores.url_of(name, administrator=True), autocommit=True) as administrator:
        administrator.execute(MAKE_ROLE.encode())
        try:
            async with inside(later, redis_url, **secret) as after:
                async with inside(seeded_database_url, redis_url, **secret) as before:
                    token = (await logged_in(before))["accessToken"]
                    assert await works(after, token)
                    after.token = await after.log_in()  # the start of the other node has changed the hash
                    made = await after.data("POST", "/api/role", {"roleName": "By both", "roleCode": "both"})
                    read = await before.ask("GET", f"/api/role/{made['id']}", token=after.token)
                    assert read.json["data"]["roleCode"] == "both"
                    assert administrator.execute(WHO_USES_IT.encode()).fetchall() != []
                assert eventually(lambda: administrator.execute(WHO_USES_IT.encode()).fetchall() == [])
                administrator.execute(CLOSE_ROLE.encode())
                with pytest.raises(psycopg.OperationalError, match="not permitted to log in"):
                    psycopg.connect(seeded_database_url)
                assert await works(after, token)
                await after.data("POST", "/api/role", {"roleName": "By the new", "roleCode": "new"})
        finally:
            administrator.execute("ALTER ROLE portcullis LOGIN")
            administrator.execute("DROP OWNED BY portcullis_b")
            administrator.execute("DROP ROLE portcullis_b")


async def test_the_secret_of_tokens_is_replaced_without_an_end_of_sessions(
    redis_url: str, seeded_database_url: str
) -> None:
    old, new = secrets.token_urlsafe(48), secrets.token_urlsafe(48)
    async with inside(seeded_database_url, redis_url, JWT_SECRET=old) as before:
        pair = await logged_in(before)
    until = (datetime.now(UTC) + timedelta(days=8)).isoformat()
    both = {
        "JWT_SECRET": new,
        "PORTCULLIS_AUTH__JWT_PREVIOUS_SECRET": old,
        "PORTCULLIS_AUTH__JWT_PREVIOUS_UNTIL": until,
    }
    async with inside(seeded_database_url, redis_url, **both) as after:
        assert await works(after, pair["accessToken"])
        renewed = await after.ask("POST", "/api/auth/refresh", {"refreshToken": pair["refreshToken"]})
        assert renewed.status == 200, renewed.body
