"""Passwords that their owners have to change first: what tokens say of them, and when they end."""

import base64
import json
from collections.abc import AsyncIterator
from typing import Any

import psycopg
import pytest
from structlog.testing import capture_logs

from tests.support.databases import NewDatabase
from tests.support.inside import CHEAP_HASHER, Inside, inside_published
from tests.support.inside_fixtures import ServiceWith
from tests.support.seeded import ADMINISTRATOR, ADMINISTRATOR_PASSWORD
from tests.users.people import HERON, PASSWORD, execute, made
from tests.web.driver import Answer

OWN = "seven quiet otters"
LEAKED = "nickelsink51"
WEEK = 604_800


@pytest.fixture
async def service(
    new_database: NewDatabase, published_template: str, redis_url: str
) -> AsyncIterator[Inside]:
    """A service that minds initial passwords, whose administrator has changed the first one."""
    url = new_database(published_template)
    with psycopg.connect(url) as connection:
        connection.execute("UPDATE sys.user SET password_initial = NULL")
    async with inside_published(url, redis_url, PORTCULLIS_PASSWORD__INITIAL="true") as running:
        yield running


def is_initial(token: str) -> bool:
    """What an access token says of the password of its user."""
    part = token.split(".")[1]
    claims: dict[str, Any] = json.loads(base64.urlsafe_b64decode(part + "=="))
    return bool(claims.get("initial", False))


async def logged_in(service: Inside, password: str, name: str = "heron") -> Answer:
    return await service.ask("POST", "/api/auth/login", {"userName": name, "password": password})


async def changed(service: Inside, token: str, current: str, new: str) -> Answer:
    body = {"currentPassword": current, "newPassword": new}
    return await service.ask("PUT", "/api/user/profile/password", body, token=token)


async def refreshed(service: Inside, answer: Answer) -> str:
    body = {"refreshToken": answer.json["data"]["refreshToken"]}
    return str((await service.data("POST", "/api/auth/refresh", body))["accessToken"])


def mark_of(service: Inside, name: str = "heron") -> str | None:
    ((mark,),) = execute(service, "SELECT password_initial FROM sys.user WHERE user_name = %s", name)
    return None if mark is None else str(mark)


async def test_a_password_is_initial_until_its_owner_has_changed_it_and_again_after_a_reset(
    service: Inside,
) -> None:
    user = await made(service)
    first = await logged_in(service, PASSWORD)
    token = first.json["data"]["accessToken"]
    assert is_initial(token)
    assert is_initial(await refreshed(service, first))

    again = await logged_in(service, PASSWORD)
    token = again.json["data"]["accessToken"]
    assert (await changed(service, token, PASSWORD, OWN)).status == 200
    assert not is_initial(await refreshed(service, again))
    assert not is_initial(await service.log_in("heron", OWN))

    given = {"newPassword": "five wary herons"}
    assert (await service.ask("PUT", f"/api/user/{user['id']}/password", given)).status == 200
    assert is_initial(await service.log_in("heron", "five wary herons"))


async def test_what_a_session_with_an_initial_password_may_not_do_is_refused_with_the_way_out(
    service: Inside,
) -> None:
    await made(service)
    token = (await logged_in(service, PASSWORD)).json["data"]["accessToken"]

    refused = await service.ask("GET", "/api/menu/mine", token=token)

    assert refused.json["code"] == "insufficient_user_authentication"
    assert "PUT /api/user/profile/password" in refused.json["detail"]
    await changed(service, token, PASSWORD, OWN)
    assert (
        await service.ask("GET", "/api/menu/mine", token=await service.log_in("heron", OWN))
    ).status == 200


@pytest.mark.feature("tables")
async def test_an_imported_password_is_initial(service: Inside) -> None:
    await service.data("POST", "/api/user/import", {"users": [HERON]})

    assert is_initial(await service.log_in("heron", PASSWORD))


async def test_the_first_administrator_begins_with_an_initial_password(
    new_database: NewDatabase, published_template: str
) -> None:
    with psycopg.connect(new_database(published_template)) as connection:
        marks = connection.execute("SELECT user_name, password_initial FROM sys.user").fetchall()

    assert marks == [(ADMINISTRATOR, "given")]


async def test_who_keeps_an_initial_password_has_not_changed_it(service: Inside) -> None:
    await made(service)
    token = await service.log_in("heron", PASSWORD)

    answer = await changed(service, token, PASSWORD, PASSWORD)

    assert (answer.status, answer.json["errors"][0]["field"]) == (422, "newPassword")
    assert is_initial(await service.log_in("heron", PASSWORD))


async def test_a_password_of_others_is_refused_after_a_week_and_only_to_who_knows_it(service: Inside) -> None:
    await made(service)
    age = "UPDATE sys.user SET create_time = now() - %s * interval '1 s' WHERE user_name = 'heron'"
    execute(service, age, WEEK - 60)
    assert (await logged_in(service, PASSWORD)).status == 200

    execute(service, age, WEEK + 60)
    refused = await logged_in(service, PASSWORD)
    assert (refused.status, refused.code) == (403, "initial_password_expired")
    assert (await logged_in(service, "not the password")).code == "login_failed"


async def test_a_reset_begins_the_week_anew_and_the_own_password_has_none(service: Inside) -> None:
    user = await made(service)
    execute(service, "UPDATE sys.user SET create_time = now() - interval '8 days'")
    given = {"newPassword": "five wary herons"}
    assert (await service.ask("PUT", f"/api/user/{user['id']}/password", given)).status == 200
    token = await service.log_in("heron", "five wary herons")
    assert (await changed(service, token, "five wary herons", OWN)).status == 200

    execute(service, "UPDATE sys.user SET password_time = now() - interval '9 days'")
    assert (await logged_in(service, OWN)).status == 200


async def test_a_login_with_a_leaked_password_is_initial_without_an_end_until_it_is_changed(
    service: Inside,
) -> None:
    await made(service)
    execute(
        service,
        "UPDATE sys.user SET password_hash = %s, password_initial = NULL,"
        " create_time = now() - interval '1 year' WHERE user_name = 'heron'",
        CHEAP_HASHER.hash(LEAKED),
    )
    before = execute(service, "SELECT version FROM sys.user WHERE user_name = 'heron'")

    with capture_logs() as lines:
        first = await logged_in(service, LEAKED)
    assert is_initial(first.json["data"]["accessToken"])
    assert is_initial(await refreshed(service, first))
    assert [line["event_type"] for line in lines if "leak" in line["event"]] == ["security"]
    assert LEAKED not in str(lines)
    assert execute(service, "SELECT version FROM sys.user WHERE user_name = 'heron'") == before

    token = await service.log_in("heron", LEAKED)
    assert (await changed(service, token, LEAKED, OWN)).status == 200
    assert mark_of(service) is None
    assert not is_initial(await service.log_in("heron", OWN))


async def test_with_the_setting_off_nothing_is_initial_and_nothing_expires(service_with: ServiceWith) -> None:
    async with service_with(PORTCULLIS_PASSWORD__INITIAL="false") as service:
        await made(service)
        execute(service, "UPDATE sys.user SET create_time = now() - interval '1 year'")
        execute(
            service,
            "UPDATE sys.user SET password_hash = %s, password_initial = NULL WHERE user_name = 'heron'",
            CHEAP_HASHER.hash(LEAKED),
        )

        assert not is_initial(await service.log_in("heron", LEAKED))
        assert mark_of(service) is None
        assert not is_initial(await service.log_in(ADMINISTRATOR, ADMINISTRATOR_PASSWORD))
        assert mark_of(service, ADMINISTRATOR) == "given"


async def test_who_has_a_second_factor_may_set_a_shorter_password(service_with: ServiceWith) -> None:
    lengths = {"PORTCULLIS_PASSWORD__MIN_LENGTH": "15", "PORTCULLIS_PASSWORD__MIN_LENGTH_WITH_FACTOR": "8"}
    async with service_with(**lengths) as service:
        user = await made(service)
        path = f"/api/user/{user['id']}/password"
        short = {"newPassword": "x7#Kq!2z"}

        refused = await service.ask("PUT", path, short)
        assert refused.json["errors"][0]["message"] == "must have 15 to 128 characters"
        execute(
            service,
            "INSERT INTO sys.user_factor (user_id, kind, factor_name, confirm_time, sealed_secret)"
            " VALUES (%s, 'totp', 'phone', now(), 'sealed')",
            int(user["id"]),
        )
        assert (await service.ask("PUT", path, short)).status == 200
