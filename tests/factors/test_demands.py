"""The shipped demands at work: two factors for administrators, a fresh login for the own address."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from redis.asyncio import Redis as Client

from service.embedded import EmbeddedStores
from tests.factors.conftest import ORIGIN, PASSWORD, SETTINGS, Person, public
from tests.support.authenticator import Passkey
from tests.support.databases import database, session_store
from tests.support.inside import Inside, inside_published
from tests.support.seeded import ADMINISTRATOR, ADMINISTRATOR_PASSWORD

pytestmark = pytest.mark.anyio

DEMANDS = SETTINGS | {"PORTCULLIS_POLICY__ASSURANCE": "administrators"}
ANY = ("If-Match", "*")
ROLE = {"roleCode": "made", "roleName": "Made"}


@pytest.fixture
async def administrators(
    stores: EmbeddedStores, published_template: str
) -> AsyncIterator[tuple[Inside, str]]:
    """Its own house, whose first administrator has no factor."""
    with database(stores, published_template) as url, session_store(stores) as redis_url:
        async with inside_published(url, redis_url, **DEMANDS) as running:
            yield running, redis_url


async def admin(site: Inside) -> Person:
    """Return the administrator, who has just logged in with the password alone."""
    person = Person(site, 1, ADMINISTRATOR, passkey=Passkey("id.example.com", ORIGIN))
    person.token = (await pair(person))["accessToken"]
    return person


async def pair(person: Person) -> Any:
    """Return the tokens of a login by the administrator's password."""
    return (await person.first_step(ADMINISTRATOR_PASSWORD)).json["data"]


async def test_an_administrator_enrols_and_steps_up_before_changing_anything(
    administrators: tuple[Inside, str],
) -> None:
    site, _ = administrators
    person = await admin(site)

    assert (await person.ask("GET", "/api/role/list")).status == 200
    refused = await person.ask("POST", "/api/role", ROLE)
    assert (refused.status, refused.json["code"]) == (401, "insufficient_user_authentication")
    assert (refused.json["required"], refused.json["acrValues"]) == (
        ["@two-factors", "@service"],
        ["mfa", "phr"],
    )
    await person.enrol_app()
    assert (await person.ask("POST", "/api/role", ROLE)).status == 401
    await person.step_up()
    assert (await person.ask("POST", "/api/role", ROLE)).status == 201


async def test_a_key_does_what_its_maker_had_to_prove_two_factors_for(
    administrators: tuple[Inside, str],
) -> None:
    site, _ = administrators
    person = await admin(site)
    await person.enrol_app()
    await person.step_up()
    robot = {"userName": "robot", "nickName": "Robot", "kind": "service", "roleIds": [1]}
    account = await person.data("POST", "/api/user", robot)
    keys = f"/api/user/{account['id']}/keys"
    key = (await person.data("POST", keys, {"name": "job"}))["key"]

    assert (await site.ask("POST", "/api/role", ROLE, token=key)).status == 201
    refused = await site.ask("POST", keys, {"name": "another"}, token=key)
    assert (refused.status, refused.json["layer"]) == (403, "assurance")


async def test_the_own_address_needs_a_fresh_login_and_other_data_do_not(
    administrators: tuple[Inside, str],
) -> None:
    site, redis_url = administrators
    person = await admin(site)
    profile = "/api/user/profile"
    tokens = await pair(person)
    person.token = tokens["accessToken"]

    assert (await person.ask("PUT", profile, {"email": "a@example.org"})).status == 200
    await age(redis_url, 16 * 60)
    renewed = await public(site, "/api/auth/refresh", {"refreshToken": tokens["refreshToken"]})
    person.token = renewed.json["data"]["accessToken"]
    assert (await person.ask("PUT", profile, {"nickName": "Other"})).status == 200
    assert (await person.ask("PUT", profile, {"email": "a@example.org", "nickName": "Same"})).status == 200
    refused = await person.ask("PUT", profile, {"email": "b@example.org"})
    assert (refused.status, refused.json["methods"]) == (401, ["password"])
    assert refused.json["required"] == ["@login-within-15m", "@service"]
    assert (await person.ask("POST", "/api/auth/logout/all")).status == 401
    stepped = await person.data(
        "POST", "/api/auth/step-up", {"method": "password", "password": ADMINISTRATOR_PASSWORD}
    )
    person.token = stepped["accessToken"]
    assert (await person.ask("PUT", profile, {"email": "b@example.org"})).status == 200


async def test_the_last_administrator_with_a_factor_keeps_it(administrators: tuple[Inside, str]) -> None:
    site, _ = administrators
    person = await admin(site)
    await person.enrol_app()
    await person.step_up()

    refused = await person.ask("DELETE", f"/api/user/profile/factors/{person.app}")
    assert (refused.status, refused.json["rule"]) == (409, "last_administrator")
    other = {"userName": "second", "nickName": "Second", "password": PASSWORD, "roleIds": [1]}
    made = await person.data("POST", "/api/user", other)
    assert (await person.ask("DELETE", f"/api/user/profile/factors/{person.app}")).status == 409
    second = Person(site, made["id"], "second")
    second.token = (await second.first_step()).json["data"]["accessToken"]
    await second.enrol_app()
    assert (await person.ask("DELETE", f"/api/user/profile/factors/{person.app}")).status == 200
    reset = await second.ask("DELETE", "/api/user/1/factors")
    assert reset.status == 401  # enrolled with a password alone
    await second.step_up()
    assert (await second.ask("DELETE", "/api/user/1/factors")).status == 200


async def age(redis_url: str, seconds: int) -> None:
    """Let the proof of the administrator's session be that much older."""
    async with Client.from_url(redis_url) as client:
        for key in await client.keys("auth:device:1:*"):
            stored = await client.get(key)
            assert stored is not None
            session = json.loads(stored)
            session["auth_time"] -= seconds
            await client.set(key, json.dumps(session), keepttl=True)


async def test_no_demand_shuts_all_administrators_out(house: Inside) -> None:
    listed = await house.data("GET", "/api/resource/list?size=200")
    (edit,) = (
        each for each in listed["items"] if each["path"] == "/api/role/{id}" and each["method"] == "PUT"
    )
    target = f"/api/resource/{edit['id']}"

    for word in ("two-factors", "phishing-resistant-within-12h"):
        refused = await house.ask("PATCH", target, {"assurance": word}, ANY)
        assert (refused.status, refused.json["rule"]) == (409, "way_back")
    assert (await house.ask("PATCH", target, {"assurance": "login-within-15m"}, ANY)).status == 200
