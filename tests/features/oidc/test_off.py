"""Without the feature no user signs in with a provider, and what the settings have closed stays closed."""

import secrets

import psycopg
import pytest

from service.operator.errors import UnpreparedError
from service.server.prepare import check, publish_policy
from tests.features.oidc.conftest import provider_settings, variables
from tests.features.oidc.hostile import HostileProvider
from tests.support.databases import NewDatabase
from tests.support.inside import Inside, inside_published, settings_of
from tests.support.members import member, query
from tests.support.seeded import ADMINISTRATOR_PASSWORD

OFF = {"PORTCULLIS_FEATURES__OFF": "oidc"}
OWN = "/api/user/profile/origins"
LINK = (
    "INSERT INTO sys.directory_account (source, issuer, subject, user_id, managed)"
    " VALUES (%s, %s, %s, %s, false)"
)


def issuer_of(name: str) -> str:
    return f"https://{name}.example"


def providers(*, allow_password: bool) -> dict[str, str]:
    return variables(
        *(
            provider_settings(HostileProvider(), name, issuer=issuer_of(name), allow_password=allow_password)
            for name in ("good", "other")
        )
    )


async def link(service: Inside, user_id: int, *names: str) -> None:
    for name in names:
        await query(service, LINK, name, issuer_of(name), secrets.token_hex(8), user_id)


async def test_it_is_absent_and_the_console_offers_no_provider(
    new_database: NewDatabase, published_template: str, redis_url: str
) -> None:
    url, chosen = new_database(published_template), providers(allow_password=True)
    async with inside_published(url, redis_url, **chosen) as service:
        assert (await service.as_anonymous("GET", "/api/auth/oidc")).status == 200
        assert b'data-providers="some"' in (await service.as_anonymous("GET", "/console")).body
    async with inside_published(url, redis_url, **chosen, **OFF) as service:
        for method, path in (
            ("GET", "/api/auth/oidc"),
            ("GET", "/api/auth/oidc/good/start?next=/console"),
            ("POST", "/api/auth/oidc/good/backchannel-logout"),
            ("POST", "/api/auth/oidc/good/accounts"),
        ):
            answer = await service.ask(method, path)
            assert (answer.status, answer.json["code"]) == (404, "not_found")
        assert b"data-providers" not in (await service.as_anonymous("GET", "/console")).body


async def test_a_provider_is_no_way_in_and_is_none_that_is_kept(
    new_database: NewDatabase, published_template: str, redis_url: str
) -> None:
    url, chosen = new_database(published_template), providers(allow_password=True)
    async with inside_published(url, redis_url, **chosen, **OFF) as service:
        heron = await member(service, "heron")
        await link(service, heron.user_id, "good", "other")
        known = (await heron.ask("GET", OWN)).json["data"]["items"]
        assert [(each["source"], each["provider"]) for each in known] == [("good", False), ("other", False)]
        await query(service, "UPDATE sys.user SET password_hash = NULL WHERE id = %s", heron.user_id)
        refusal = await heron.ask("DELETE", f"{OWN}/other")
        assert (refusal.status, refusal.json["rule"]) == (409, "last_way_in")
    async with inside_published(url, redis_url, **chosen) as service:
        known = await service.data("GET", f"/api/user/{heron.user_id}/origins")
        assert [each["provider"] for each in known["items"]] == [True, True]


async def test_a_password_that_a_provider_has_closed_stays_closed(
    new_database: NewDatabase, published_template: str, redis_url: str
) -> None:
    url, chosen = new_database(published_template), providers(allow_password=False)
    async with inside_published(url, redis_url, **chosen, **OFF) as service:
        heron = await member(service, "heron")
        await link(service, heron.user_id, "good")
        body = {"userName": "heron", "password": ADMINISTRATOR_PASSWORD}
        assert (await service.as_anonymous("POST", "/api/auth/login", body=body)).code == "login_failed"
        options = (await heron.ask("POST", "/api/auth/step-up/options")).json["data"]
        assert options["methods"] == []


@pytest.mark.parametrize("named", [True, False], ids=["named", "no longer named"])
def test_a_start_refuses_while_accounts_are_linked_to_a_provider_that_is_not_cut_off(
    new_database: NewDatabase, published_template: str, redis_url: str, named: bool
) -> None:
    url = new_database(published_template)
    chosen = settings_of(url, redis_url, OFF | (providers(allow_password=True) if named else {}))
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(LINK, ("good", issuer_of("good"), "heron", 1))
        with pytest.raises(UnpreparedError, match=r"names oidc, but accounts are linked .* \(1 in the"):
            publish_policy(chosen, check(chosen))
        connection.execute(
            "INSERT INTO sys.directory (name, kind, mapping, ceiling, enabled)"
            " VALUES ('good', 'oidc', '{}', '{}', false)"
        )
    publish_policy(chosen, check(chosen))


def test_a_directory_of_a_provider_that_knows_nobody_does_not_refuse_the_start(
    new_database: NewDatabase, published_template: str, redis_url: str
) -> None:
    url = new_database(published_template)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "INSERT INTO sys.directory (name, kind, mapping, ceiling) VALUES ('good', 'oidc', '{}', '{}')"
        )
    chosen = settings_of(url, redis_url, OFF)
    publish_policy(chosen, check(chosen))
