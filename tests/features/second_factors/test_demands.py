"""The shipped demands at work: two factors for administrators, a fresh login for the own address."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from redis.asyncio import Redis as Client

from service.features.embedded.stores import EmbeddedStores
from tests.features.second_factors.conftest import ORIGIN, PASSWORD, SETTINGS, Person, public
from tests.support.authenticator import Passkey
from tests.support.databases import database, session_store
from tests.support.inside import Inside, inside_published
from tests.support.inside_fixtures import inside_own
from tests.support.seeded import ADMINISTRATOR, ADMINISTRATOR_PASSWORD
from tests.support.without import is_served

LEVEL = "PORTCULLIS_POLICY__ASSURANCE"
ANY = ("If-Match", "*")
ROLE = {"roleCode": "made", "roleName": "Made"}


@pytest.fixture
async def administrators(
    stores: EmbeddedStores, published_template: str
) -> AsyncIterator[tuple[Inside, str]]:
    """Its own house, whose first administrator has no factor."""
    with database(stores, published_template) as url, session_store(stores) as redis_url:
        async with inside_published(url, redis_url, **SETTINGS, **{LEVEL: "administrators"}) as running:
            yield running, redis_url


@pytest.fixture
async def everybody(stores: EmbeddedStores, published_template: str) -> AsyncIterator[Inside]:
    """The same, where everybody needs two factors."""
    async with inside_own(stores, published_template, **SETTINGS, **{LEVEL: "everybody"}) as running:
        yield running


async def admin(site: Inside) -> Person:
    """Return the administrator, who has just logged in with the password alone."""
    person = Person(site, 1, ADMINISTRATOR, passkey=Passkey("id.example.com", ORIGIN))
    person.token = (await pair(person))["accessToken"]
    return person


async def pair(person: Person) -> Any:
    """Return the tokens of a login by the administrator's password."""
    return (await person.first_step(ADMINISTRATOR_PASSWORD)).json["data"]


async def stepped_up(person: Person) -> Any:
    """Return the tokens of a step-up by app."""
    return await person.data("POST", "/api/auth/step-up", {"method": "totp", "code": person.code()})


async def renewed(person: Person, tokens: Any) -> Any:
    """Let the person go on with the tokens that a refresh gives, and return them."""
    answer = await public(person.site, "/api/auth/refresh", {"refreshToken": tokens["refreshToken"]})
    person.token = answer.json["data"]["accessToken"]
    return answer.json["data"]


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


async def test_the_own_number_needs_a_fresh_login_and_other_data_do_not(
    administrators: tuple[Inside, str],
) -> None:
    site, redis_url = administrators
    person = await admin(site)
    profile = "/api/user/profile"
    tokens = await pair(person)
    person.token = tokens["accessToken"]

    first, second = "+49301234567", "+49301234568"

    assert (await person.ask("PUT", profile, {"phone": first})).status == 200
    await age(redis_url, 16 * 60)
    await renewed(person, tokens)
    assert (await person.ask("PUT", profile, {"nickName": "Other"})).status == 200
    assert (await person.ask("PUT", profile, {"phone": first, "nickName": "Same"})).status == 200
    refused = await person.ask("PUT", profile, {"phone": second})
    assert (refused.status, refused.json["methods"]) == (401, ["password"])
    assert refused.json["required"] == ["@login-within-15m", "@service"]
    assert (await person.ask("POST", "/api/auth/logout/all")).status == 401
    stepped = await person.data(
        "POST", "/api/auth/step-up", {"method": "password", "password": ADMINISTRATOR_PASSWORD}
    )
    person.token = stepped["accessToken"]
    assert (await person.ask("PUT", profile, {"phone": second})).status == 200


async def test_the_own_number_changes_by_no_other_way_without_a_fresh_login(
    administrators: tuple[Inside, str],
) -> None:
    site, redis_url = administrators
    person = await admin(site)
    await person.enrol_app()
    tokens = await stepped_up(person)
    await age(redis_url, 16 * 60)
    await renewed(person, tokens)

    account = await person.data("GET", "/api/user/1")
    kept = ("userName", "nickName", "email", "status", "service", "gender", "avatar")
    whole = {name: account[name] for name in kept} | {"roleIds": [1]}
    changes: list[tuple[str, str, Any]] = [
        ("PATCH", "/api/user/1", {"phone": "+49301234567"}),
        ("PUT", "/api/user/1", whole | {"phone": "+49301234567"}),
        ("POST", "/api/user/import", {"users": [{"userName": ADMINISTRATOR, "phone": "+49301234567"}]}),
    ]
    changes = [change for change in changes if is_served(change[1])]
    for change in changes:
        refused = await site.ask(*change, ANY, token=person.token)
        assert (refused.status, refused.json.get("maxAge")) == (401, 900), (change, refused.body)
    after = await person.data("GET", "/api/user/1")
    assert after["phone"] == account["phone"]
    await person.step_up()
    for change in changes[:1]:
        assert (await site.ask(*change, ANY, token=person.token)).status == 200


async def test_users_see_their_sessions_and_end_them_after_proving_it_again(
    administrators: tuple[Inside, str],
) -> None:
    site, redis_url = administrators
    person = await admin(site)
    assert (await person.first_step(ADMINISTRATOR_PASSWORD, device="tablet")).status == 200
    tokens = await pair(person)
    await age(redis_url, 16 * 60)
    await renewed(person, tokens)

    listed = await person.data("GET", "/api/auth/sessions")
    assert "tablet" in {session["device"] for session in listed}
    ends = [("DELETE", "/api/auth/sessions/tablet"), ("POST", "/api/auth/logout/all")]
    for end in ends:
        refused = await person.ask(*end)
        assert (refused.status, refused.json["code"]) == (401, "insufficient_user_authentication")
        assert (refused.json["required"], refused.json["maxAge"]) == (["@login-within-15m", "@service"], 900)
    assert len(await person.data("GET", "/api/auth/sessions")) == len(listed)
    proof = {"method": "password", "password": ADMINISTRATOR_PASSWORD}
    tokens = await person.data("POST", "/api/auth/step-up", proof)
    for end in ends:
        tokens = await renewed(person, tokens)
        assert (await person.ask(*end)).status == 200


async def test_where_everybody_needs_two_factors_a_password_opens_the_way_to_a_second_one_only(
    everybody: Inside,
) -> None:
    person = await admin(everybody)
    own = ("/api/user/profile", "/api/user/profile/factors", "/api/auth/sessions", "/api/menu/mine")
    others = ("/api/user/list", "/api/role/list", "/api/menu/list", "/api/file/list", "/api/policy/revisions")

    assert [(await person.ask("GET", target)).status for target in own] == [200] * len(own)
    for target in others:
        refused = await person.ask("GET", target)
        assert (refused.status, refused.json.get("acrValues")) == (401, ["mfa", "phr"]), target
        assert refused.json["methods"] == []  # which says: enrol first
    await person.enrol_app()
    assert [(await person.ask("GET", target)).status for target in others] == [401] * len(others)
    assert (await person.first_step(ADMINISTRATOR_PASSWORD)).json["code"] == "second_factor_required"
    await person.step_up()
    assert [(await person.ask("GET", target)).status for target in others] == [200] * len(others)


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


SESSIONS, MENUS = "/api/auth/sessions", "/api/menu/mine"
STEP_UP = "/api/auth/step-up"


async def demanding(site: Inside, redis_url: str) -> tuple[Person, dict[str, Any]]:
    """Return the administrator with app and passkey, and the tokens of a step-up by app 16 minutes ago.

    The own sessions demand two factors in the last 15 minutes, and the own menus a passkey.
    """
    person = await admin(site)
    await person.enrol_app()
    await person.step_up()
    for code, path, word in (
        ("own", SESSIONS, "two-factors-within-15m"),
        ("menus", MENUS, "phishing-resistant"),
    ):
        resource = {"resourceName": code, "resourceCode": code, "method": "GET", "path": path}
        await person.data("POST", "/api/resource", resource | {"assurance": word})
    await person.enrol_passkey()
    tokens = await stepped_up(person)
    await age(redis_url, 16 * 60)
    return person, await renewed(person, tokens)


async def refused(person: Person, target: str) -> Any:
    """Return the methods that a refusal names, which demands a stronger or newer proof."""
    answer = await person.ask("GET", target)
    assert (answer.status, answer.json["code"]) == (401, "insufficient_user_authentication"), answer.body
    return answer.json["methods"]


async def by_passkey(person: Person) -> Any:
    """Step up by passkey, and return the tokens."""
    options = await person.data("POST", f"{STEP_UP}/options")
    credential = person.passkey.sign_in(options["publicKey"])
    tokens = await person.data("POST", STEP_UP, {"method": "passkey", "credential": credential})
    person.token = tokens["accessToken"]
    return tokens


async def test_a_step_up_meets_the_demand_that_asked_for_it_and_a_stronger_one_asks_for_a_passkey(
    administrators: tuple[Inside, str],
) -> None:
    person, _ = await demanding(*administrators)

    assert await refused(person, SESSIONS) == ["passkey", "totp", "recovery_code"]
    await person.step_up()
    assert (await person.ask("GET", SESSIONS)).status == 200
    assert await refused(person, MENUS) == ["passkey"]
    await by_passkey(person)
    assert [(await person.ask("GET", target)).status for target in (SESSIONS, MENUS)] == [200, 200]


async def test_a_session_by_passkey_is_renewed_by_no_weaker_factor(
    administrators: tuple[Inside, str],
) -> None:
    person, _ = await demanding(*administrators)
    tokens = await by_passkey(person)
    await age(administrators[1], 16 * 60)
    tokens = await renewed(person, tokens)

    assert await refused(person, SESSIONS) == ["passkey"]
    for method, code in (("totp", person.code()), ("recovery_code", person.codes[0])):
        answer = await person.ask("POST", STEP_UP, {"method": method, "code": code})
        assert (answer.status, answer.json["code"]) == (401, "second_factor_required")
        assert answer.json["methods"] == ["passkey"]
    assert (await person.data("POST", f"{STEP_UP}/options"))["methods"] == ["passkey"]
    await renewed(person, tokens)
    assert (await person.ask("GET", MENUS)).status == 200
    await by_passkey(person)
    assert [(await person.ask("GET", target)).status for target in (SESSIONS, MENUS)] == [200, 200]


async def test_without_the_passkey_of_the_session_another_factor_renews_it(
    administrators: tuple[Inside, str],
) -> None:
    person, _ = await demanding(*administrators)
    tokens = await by_passkey(person)
    listed = (await person.data("GET", "/api/user/profile/factors"))["items"]
    (passkey,) = (factor["id"] for factor in listed if factor["kind"] == "passkey")
    assert (await person.ask("DELETE", f"/api/user/profile/factors/{passkey}")).status == 200
    await age(administrators[1], 16 * 60)
    await renewed(person, tokens)

    assert await refused(person, SESSIONS) == ["totp", "recovery_code"]
    await person.step_up()
    assert (await person.ask("GET", SESSIONS)).status == 200
    assert await refused(person, MENUS) == []


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
