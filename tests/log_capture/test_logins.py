"""Every outcome of a login, and whatever ends a session, has its entry in the login log."""

from ipaddress import ip_address
from typing import Any
from unittest.mock import AsyncMock

import pytest
from redis.asyncio import Redis

from service.errors import Unavailable
from service.features.notices.notices import Notices
from service.kernel.clock import rfc3339
from service.kernel.coded_sentences import Sentence
from service.keyspace import Counters
from tests.log_capture.conftest import PASSWORD, Logged, Person, Row
from tests.web.driver import Answer

AGENT = ("User-Agent", "Mozilla/5.0 (X11; Linux x86_64; rv:109.0) Gecko/20100101 Firefox/115.0")
ACCOUNT_LIMIT = 10  # the setting's default

FACTS = ("event", "outcome", "reason", "user_id", "user_name", "device")


def facts(row: Row) -> tuple[Any, ...]:
    return tuple(row[name] for name in FACTS)


def credentials(person: Person, **other: Any) -> dict[str, Any]:
    return {"userName": person.name, "password": PASSWORD, "device": "web"} | other


async def log_in(logged: Logged, body: dict[str, Any]) -> Answer:
    return await logged.ask("POST", "/api/auth/login", body, AGENT)


async def only(logged: Logged, answer: Answer) -> Row:
    (row,) = await logged.logins(answer)
    return row


async def by_administrator(logged: Logged, answer: Answer) -> Row:
    """Return the one entry; its subject is told without anybody's address, its actor in the other log."""
    row, operation = await only(logged, answer), await logged.entry(answer)
    assert row["request_id"] == operation["request_id"]
    assert operation["user_name"] == "admin"
    assert (row["login_ip"], row["user_agent"], row["browser"], row["os"]) == (None, None, None, None)
    return row


async def test_a_login_is_entered_with_device_browser_system_and_address(logged: Logged) -> None:
    person = await logged.person()
    row = await only(logged, await log_in(logged, credentials(person)))
    assert facts(row) == ("login", "success", None, person.id, person.name, "web")
    assert (row["browser"], row["os"], row["user_agent"]) == ("Firefox 115", "Linux", AGENT[1])
    assert row["login_ip"] == ip_address("192.0.2.7")


KINDS = ("web", "ios")


async def last_login(logged: Logged, person: Person) -> Any:
    answer = await logged.ask("GET", f"/api/user/{person.id}")
    return answer.json["data"]["lastLoginTime"]


async def test_the_last_login_of_a_user_is_that_of_the_newest_entry_with_success(logged: Logged) -> None:
    person = await logged.person()
    assert await last_login(logged, person) is None
    await only(logged, await log_in(logged, credentials(person, password="wrong")))
    assert await last_login(logged, person) is None

    rows = [await only(logged, await log_in(logged, credentials(person, device=kind))) for kind in KINDS]
    await only(logged, await log_in(logged, credentials(person, password="wrong")))

    assert await last_login(logged, person) == rfc3339(rows[1]["create_time"])
    assert rows[0]["create_time"] < rows[1]["create_time"]


async def test_a_login_changes_neither_the_version_of_a_user_nor_who_edited_last(logged: Logged) -> None:
    person = await logged.person()
    before = (await logged.ask("GET", f"/api/user/{person.id}")).json["data"]
    await only(logged, await log_in(logged, credentials(person)))
    after = (await logged.ask("GET", f"/api/user/{person.id}")).json["data"]
    assert after.pop("lastLoginTime") != before.pop("lastLoginTime")
    assert after == before


async def test_a_wrong_password_is_entered_with_the_name_as_its_user_has_it(logged: Logged) -> None:
    person = await logged.person()
    guess = credentials(person, userName=person.name.upper(), password="wrong")
    row = await only(logged, await log_in(logged, guess))
    assert facts(row) == ("login", "failure", "login_failed", person.id, person.name, "web")
    assert (row["browser"], row["login_ip"]) == ("Firefox 115", ip_address("192.0.2.7"))


async def test_a_name_that_nobody_has_is_not_entered(logged: Logged) -> None:
    row = await only(
        logged, await log_in(logged, {"userName": "My-Passw0rd", "password": "x", "device": "my-secret"})
    )
    assert facts(row) == ("login", "failure", "login_failed", None, None, None)
    assert row["login_ip"] == ip_address("192.0.2.7")


async def test_a_device_that_can_not_be_is_entered_as_none(logged: Logged) -> None:
    person = await logged.person()
    row = await only(logged, await log_in(logged, credentials(person, device="My Password")))
    assert facts(row) == ("login", "failure", "validation_failed", person.id, person.name, None)


async def test_a_disabled_and_a_banned_user_are_entered_with_the_reason(logged: Logged) -> None:
    person = await logged.person()
    disabled = await logged.ask("PUT", f"/api/user/{person.id}/status", {"status": "disabled"})
    assert facts(await by_administrator(logged, disabled)) == (
        *("ban", "success", "disabled", person.id, person.name, None),
    )
    row = await only(logged, await log_in(logged, credentials(person)))
    assert facts(row) == ("login", "failure", "account_disabled", person.id, person.name, "web")

    enabled = await logged.ask("PUT", f"/api/user/{person.id}/status", {"status": "enabled"})
    assert facts(await by_administrator(logged, enabled))[:5] == (
        *("unban", "success", None, person.id, person.name),
    )

    banned = await logged.ask("POST", f"/api/online/{person.id}/ban", {"seconds": 60, "reason": "shared"})
    assert facts(await by_administrator(logged, banned)) == (
        *("ban", "success", None, person.id, person.name, None),
    )
    row = await only(logged, await log_in(logged, credentials(person)))
    assert facts(row) == ("login", "failure", "account_banned", person.id, person.name, "web")

    cleared = await logged.ask("DELETE", f"/api/online/{person.id}/ban")
    assert facts(await by_administrator(logged, cleared))[:5] == (
        *("unban", "success", None, person.id, person.name),
    )


async def test_an_account_is_locked_once_and_each_attempt_after_that_is_entered(logged: Logged) -> None:
    person = await logged.person()
    for _ in range(ACCOUNT_LIMIT):
        assert (await log_in(logged, credentials(person, password="wrong"))).status == 401
    first = await logged.logins(await log_in(logged, credentials(person)), least=2)
    again = await log_in(logged, credentials(person))

    assert again.status == 429
    details = ("failure", "rate_limited", person.id, person.name, "web")
    assert sorted(map(facts, first)) == [("lockout", *details), ("login", *details)]
    assert facts(await only(logged, again)) == ("login", *details)


async def test_a_name_that_nobody_has_is_locked_without_being_told(logged: Logged) -> None:
    for _ in range(ACCOUNT_LIMIT):
        await log_in(logged, {"userName": "nobody", "password": "x"})
    answer = await log_in(logged, {"userName": "nobody", "password": "x"})
    assert answer.status == 429
    assert facts(await only(logged, answer)) == ("login", "failure", "rate_limited", None, None, "web")


async def test_refused_attempts_ask_the_same_of_the_store_whether_or_not_a_user_has_the_name(
    logged: Logged, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So their time does not tell which names there are."""
    person = await logged.person()
    asked: list[str] = []
    hit = Counters.hit

    async def noted(self: Counters, most: int, window: int, *name: str) -> int | None:
        asked.append(name[0])
        return await hit(self, most, window, *name)

    monkeypatch.setattr(Counters, "hit", noted)
    for name in (person.name, "nobody else"):
        for _ in range(ACCOUNT_LIMIT):
            await log_in(logged, {"userName": name, "password": "x"})
        asked.clear()
        assert (await log_in(logged, {"userName": name, "password": "x"})).status == 429
        assert asked == ["login-address", "login", "lockout"]


async def test_a_login_that_fails_after_its_session_opened_leaves_none(
    logged: Logged, monkeypatch: pytest.MonkeyPatch
) -> None:
    person = await logged.person()
    with monkeypatch.context() as patch:
        patch.setattr(
            Notices, "of_login", AsyncMock(side_effect=Unavailable(Sentence("The database is away")))
        )
        refused = await log_in(logged, credentials(person))
    assert refused.status == 503
    assert facts(await only(logged, refused))[:3] == ("login", "failure", "unavailable")
    async with Redis.from_url(logged.redis_url) as client:
        assert await client.exists(f"auth:device:{person.id}:web") == 0


async def test_a_login_is_good_though_the_count_of_attempts_is_not_reset(
    logged: Logged, monkeypatch: pytest.MonkeyPatch
) -> None:
    person = await logged.person()
    monkeypatch.setattr(Counters, "clear", AsyncMock(side_effect=Unavailable(Sentence("The store is away"))))
    answer = await log_in(logged, credentials(person))
    assert answer.status == 200
    assert facts(await only(logged, answer))[:3] == ("login", "success", None)


async def test_a_session_that_is_replaced_or_pushed_out_is_entered_with_the_login(logged: Logged) -> None:
    person = await logged.person()
    for device in ("a", "b", "c", "d", "e"):
        await logged.log_in(person, device)
    pushed = await logged.logins(await log_in(logged, credentials(person, device="f")), least=2)
    replaced = await logged.logins(await log_in(logged, credentials(person, device="f")), least=2)

    user = (person.id, person.name)
    assert sorted(map(facts, pushed), key=str) == [
        ("evict", "success", "max_devices", *user, "a"),
        ("login", "success", None, *user, "f"),
    ]
    assert sorted(map(facts, replaced), key=str) == [
        ("evict", "success", "replaced", *user, "f"),
        ("login", "success", None, *user, "f"),
    ]


@pytest.mark.parametrize(
    ("method", "target", "event", "device"),
    [
        ("POST", "/api/auth/logout", "logout", "web"),
        ("POST", "/api/auth/logout/all", "logout_all", "web"),
        ("DELETE", "/api/auth/sessions/kiosk", "session_end", "kiosk"),
    ],
)
async def test_what_users_end_themselves_is_entered(
    logged: Logged, method: str, target: str, event: str, device: str
) -> None:
    person = await logged.person()
    await logged.log_in(person, "kiosk")
    answer = await logged.ask(method, target, None, AGENT, token=await logged.log_in(person))
    row = await only(logged, answer)
    assert facts(row) == (event, "success", None, person.id, person.name, device)
    assert (row["login_ip"], row["browser"]) == (ip_address("192.0.2.7"), "Firefox 115")


@pytest.mark.parametrize(("place", "device"), [("", None), ("/web", "web")])
async def test_a_kick_is_entered_as_something_that_happened_to_its_user(
    logged: Logged, place: str, device: str | None
) -> None:
    person = await logged.person()
    await logged.log_in(person)
    answer = await logged.ask("DELETE", f"/api/online/{person.id}{place}")
    row = await by_administrator(logged, answer)
    assert facts(row) == ("kick", "success", None, person.id, person.name, device)


async def test_a_spent_refresh_token_that_comes_back_is_entered(logged: Logged) -> None:
    person = await logged.person()
    pair = (await log_in(logged, credentials(person))).json["data"]
    order = {"refreshToken": pair["refreshToken"]}
    assert (await logged.ask("POST", "/api/auth/refresh", order)).status == 200
    racing = await logged.ask("POST", "/api/auth/refresh", order)
    row = await only(logged, racing)
    assert facts(row)[:5] == ("refresh", "failure", "superseded", person.id, person.name)

    await logged.end_race(person)
    stolen = await logged.ask("POST", "/api/auth/refresh", order, AGENT)
    assert stolen.json["reason"] == "reused"
    row = await only(logged, stolen)
    assert facts(row) == ("reuse", "failure", "reused", person.id, person.name, "web")
    assert row["login_ip"] == ip_address("192.0.2.7")

    again = await logged.ask("POST", "/api/auth/refresh", order)
    assert facts(await only(logged, again))[:5] == ("refresh", "failure", "ended", person.id, person.name)


async def test_a_refresh_of_a_banned_user_is_entered_and_one_that_succeeds_is_not(logged: Logged) -> None:
    person = await logged.person()
    pair = (await log_in(logged, credentials(person))).json["data"]
    renewed = await logged.ask("POST", "/api/auth/refresh", {"refreshToken": pair["refreshToken"]})
    await logged.ask("POST", f"/api/online/{person.id}/ban", {"seconds": 60})
    order = {"refreshToken": renewed.json["data"]["refreshToken"]}
    row = await only(logged, await logged.ask("POST", "/api/auth/refresh", order))
    assert facts(row)[:5] == ("refresh", "failure", "account_banned", person.id, person.name)
    name = renewed.header("x-request-id")
    assert name is not None
    assert await logged.rows("login_log", name, 0) == []


async def test_changed_and_reset_passwords_are_entered(logged: Logged) -> None:
    person = await logged.person()
    token = await logged.log_in(person)
    path, new_password = "/api/user/profile/password", "five wary herons"
    wrong = {"currentPassword": "wrong", "newPassword": new_password}
    row = await only(logged, await logged.ask("PUT", path, wrong, AGENT, token=token))
    assert facts(row) == ("password_change", "failure", "validation_failed", person.id, person.name, "web")

    right = {"currentPassword": PASSWORD, "newPassword": new_password}
    changed = await logged.ask("PUT", path, right, AGENT, token=token)
    assert changed.status == 200, changed.body
    row = await only(logged, changed)
    assert facts(row) == ("password_change", "success", None, person.id, person.name, "web")
    assert row["browser"] == "Firefox 115"

    reset = await logged.ask("PUT", f"/api/user/{person.id}/password", {"newPassword": "six wary herons"})
    assert reset.status == 200, reset.body
    row = await by_administrator(logged, reset)
    assert facts(row) == ("password_reset", "success", None, person.id, person.name, None)
