"""Users read their own notices, mark them, and are told of logins from devices that are new."""

import asyncio
from datetime import timedelta
from typing import Any, Final

import pytest

from service.features.notices import store_notices as notices
from service.features.notices.jobs import forget_notices
from service.features.notices.notices import _provider
from service.records.database.transactions import Database
from tests.features.account_links.conftest import Mailing
from tests.features.second_factors.conftest import PASSWORD, Person
from tests.support.cases import with_each
from tests.web.driver import Answer

FIREFOX: Final = "Mozilla/5.0 (X11; Linux x86_64; rv:{0}.0) Gecko/20100101 Firefox/{0}.0"


async def listed(person: Person, query: str = "") -> dict[str, Any]:
    """Return a page of the notices of a person."""
    page: dict[str, Any] = await person.data("GET", f"/api/user/profile/notices{query}")
    return page


async def mark(person: Person, **body: Any) -> Answer:
    return await person.ask("POST", "/api/user/profile/notices/read", body)


async def log_in(mailing: Mailing, person: Person, agent: str) -> None:
    body = {"userName": person.name, "password": PASSWORD}
    answer = await mailing.site.as_anonymous("POST", "/api/auth/login", ("User-Agent", agent), body=body)
    assert answer.status == 200, answer.body


def notices_of(mailing: Mailing, person: Person, kind: str = "new_device") -> list[tuple[Any, ...]]:
    return mailing.execute(
        "SELECT browser, os FROM sys.notice WHERE user_id = %s AND kind = %s ORDER BY id", person.id, kind
    )


@pytest.fixture
async def person(mailing: Mailing) -> Person:
    """Somebody with three notices: of the first login, and of roles given and taken."""
    person = await mailing.person()
    await person.log_in()
    [(auditor,)] = mailing.execute("SELECT id FROM sys.role WHERE role_code = 'auditor'")
    for ids in ([auditor], []):
        await mailing.site.data("PATCH", f"/api/user/{person.id}", {"roleIds": ids})
    await person.log_in()
    return person


async def test_the_list_has_pages_the_latest_first_and_says_how_many_are_unread(person: Person) -> None:
    page = await listed(person, "?size=2")
    assert (page["total"], page["unread"], page["page"], page["size"]) == (3, 3, 1, 2)
    assert [item["facts"] for item in page["items"]] == [
        {"takenRoles": ["auditor"]},
        {"givenRoles": ["auditor"]},
    ]
    [first] = (await listed(person, "?size=2&page=2"))["items"]
    assert (first["kind"], first["actedBy"], first["clientIp"]) == ("new_device", "self", "192.0.2.7")


async def test_who_acted_is_not_told_but_the_request_is(mailing: Mailing, person: Person) -> None:
    latest = (await listed(person))["items"][0]
    assert (latest["actedBy"], latest["clientIp"], latest["browser"]) == ("administrator", None, None)
    assert "admin" not in str({**latest, "actedBy": ""})
    target = f"/api/operation-log/list?requestId={latest['requestId']}"
    for _ in range(50):
        if items := (await mailing.site.data("GET", target))["items"]:
            break
        await asyncio.sleep(0.1)
    assert [item["userName"] for item in items] == ["admin"]


async def test_notices_are_marked_by_id_or_all_and_only_the_own_ones(
    mailing: Mailing, person: Person
) -> None:
    other = await mailing.person()
    await other.log_in()
    ids = [item["id"] for item in (await listed(person))["items"]]
    assert (await mark(other, ids=ids)).status == 204
    assert (await listed(person))["unread"] == 3
    assert (await mark(person, ids=ids[:1])).status == 204
    page = await listed(person)
    assert (page["unread"], page["items"][0]["readTime"] is None, page["items"][1]["readTime"]) == (
        2,
        False,
        None,
    )
    first_read = page["items"][0]["readTime"]
    assert (await mark(person)).status == 204
    page = await listed(person)
    assert (page["unread"], page["items"][0]["readTime"]) == (0, first_read)
    assert (await listed(other))["unread"] == 1


@pytest.mark.parametrize("ids", [["x"], [0], "all", list(range(1, 202))])
async def test_ids_that_are_none_are_refused(person: Person, ids: Any) -> None:
    assert (await mark(person, ids=ids)).status == 422
    assert (await listed(person))["unread"] == 3


async def test_nobody_reads_notices_without_a_login(mailing: Mailing) -> None:
    for method, target in (("GET", "/api/user/profile/notices"), ("POST", "/api/user/profile/notices/read")):
        assert (await mailing.site.as_anonymous(method, target)).status == 401


async def test_a_device_is_new_once_and_an_update_of_the_browser_makes_no_new_one(mailing: Mailing) -> None:
    person = await mailing.person()
    for version in (144, 145, 144):
        await log_in(mailing, person, FIREFOX.format(version))
    assert notices_of(mailing, person) == [("Firefox 144", "Linux")]
    await log_in(mailing, person, "curl/8.9")
    assert len(notices_of(mailing, person)) == 2


async def test_two_first_logins_at_once_are_told_once(mailing: Mailing) -> None:
    person = await mailing.person()
    await asyncio.gather(*(log_in(mailing, person, FIREFOX.format(145)) for _ in range(4)))
    assert len(notices_of(mailing, person)) == 1


async def test_a_refused_login_makes_no_device_known(mailing: Mailing) -> None:
    person = await mailing.person()
    body = {"userName": person.name, "password": "a wrong one"}
    answer = await mailing.site.as_anonymous("POST", "/api/auth/login", body=body)
    assert answer.status == 401
    assert notices_of(mailing, person) == []
    await person.log_in()
    assert len(notices_of(mailing, person)) == 1


async def test_a_login_that_waits_for_its_second_factor_is_told_when_it_succeeds(mailing: Mailing) -> None:
    person = await mailing.person()
    await person.log_in()
    await person.enrol_app()
    mailing.execute("DELETE FROM sys.known_device WHERE user_id = %s", person.id)
    refusal = await person.challenged()
    assert len(notices_of(mailing, person)) == 1
    answer = await person.second_step(refusal["challenge"], "totp", code=person.code())
    assert answer.status == 200
    assert len(notices_of(mailing, person)) == 2


async def test_who_fails_the_second_factor_too_often_knows_the_password_and_the_user_is_told(
    mailing: Mailing,
) -> None:
    person = await mailing.person()
    await person.log_in()
    await person.enrol_app()
    statuses = []
    for _ in range(6):
        challenge = (await person.challenged())["challenge"]
        wrong = [await person.second_step(challenge, "totp", code="000000") for _ in range(4)]
        statuses += [answer.status for answer in wrong]
    assert statuses == [401] * 20 + [429] * 4
    assert len(notices_of(mailing, person, "second_factor_blocked")) == 1


@with_each(
    ("address", "network"),
    [
        ("203.0.113.7", "203.0.0.0/16"),
        ("2001:db8:1:2::7", "2001:db8::/32"),
        ("::ffff:203.0.113.7", "::/32"),
        ("", ""),
        ("unknown", ""),
    ],
)
def test_a_place_is_the_network_of_a_provider(address: str, network: str) -> None:
    assert _provider(address) == network


async def test_old_notices_and_devices_are_deleted(mailing: Mailing, person: Person) -> None:
    old = f"now() - interval '{(notices.KEPT + timedelta(days=1)).days} days'"
    mailing.execute(
        f"UPDATE sys.notice SET create_time = {old} WHERE user_id = %s AND kind = 'new_device'", person.id
    )
    mailing.execute(
        "UPDATE sys.known_device SET last_time = now() - interval '366 days' WHERE user_id = %s", person.id
    )
    async with Database(mailing.site.database_url) as database:
        assert await forget_notices(database) == "1 notices and 1 devices deleted"
    assert (await listed(person))["total"] == 2
    await person.log_in()
    assert len(notices_of(mailing, person)) == 1


async def test_notices_and_devices_go_with_the_user(mailing: Mailing, person: Person) -> None:
    await mailing.site.data("DELETE", f"/api/user/{person.id}")
    for table in ("notice", "known_device", "mail", "account_token"):
        assert mailing.execute(f"SELECT 1 FROM sys.{table} WHERE user_id = %s", person.id) == []
