"""Online users as administrators see and end them over HTTP."""

import time
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from tests.sessions.site import (
    PROXY,
    Session,
    Site,
    User,
    code_of,
    credentials,
    log_in,
    renew,
    session_of,
    works,
)

FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0"


@pytest.fixture
def admin(site: Site, client: httpx.Client) -> Session:
    """The session of an administrator of the test's own."""
    return log_in(client, site.user("super"))


def ban(client: httpx.Client, admin: Session, user: User, **order: object) -> httpx.Response:
    return client.post(f"/api/online/{user.id}/ban", headers=admin.header, json=order)


def test_a_kick_ends_one_device_or_all(site: Site, client: httpx.Client, admin: Session) -> None:
    user = site.user()
    sessions = [log_in(client, user, device) for device in ("a", "b", "c")]
    path = f"/api/online/{user.id}"
    assert client.delete(f"{path}/a", headers=admin.header).json() == {"data": None}
    assert code_of(client.delete(f"{path}/a", headers=admin.header)) == (404, "not_found")
    assert code_of(client.delete(f"{path}/*", headers=admin.header)) == (422, "validation_failed")
    assert [renew(client, session).status_code for session in sessions] == [401, 200, 200]

    assert client.delete(path, headers=admin.header).json() == {"data": {"ended": 2}}
    assert not any(works(client, session) for session in sessions)


def test_a_banned_user_is_told_until_when_and_is_let_in_once_the_ban_is_cleared(
    site: Site, client: httpx.Client, admin: Session
) -> None:
    user = site.user()
    session = log_in(client, user)
    banned = ban(client, admin, user, seconds=3600, reason="password shared").json()["data"]
    until = datetime.fromisoformat(banned["until"])
    assert 3500 < (until - datetime.now(UTC)).total_seconds() <= 3600
    assert banned["ended"] == 1

    for answer in (
        client.get("/api/user/info", headers=session.header),
        client.post("/api/auth/logout", headers=session.header),
        renew(client, session),
        client.post("/api/auth/login", json=credentials(user)),
    ):
        assert code_of(answer) == (403, "account_banned")
        assert answer.json()["until"] == banned["until"]

    assert client.delete(f"/api/online/{user.id}/ban", headers=admin.header).json() == {"data": None}
    assert not works(client, session)
    assert renew(client, session).json()["reason"] == "ended"
    assert works(client, log_in(client, user))


def test_nothing_that_a_banned_user_or_a_kick_does_lifts_the_ban(
    site: Site, client: httpx.Client, admin: Session
) -> None:
    user = site.user()
    session = log_in(client, user)
    assert ban(client, admin, user).json()["data"] == {"until": None, "ended": 1}
    client.post("/api/auth/logout", headers=session.header)
    client.post("/api/auth/logout/all", headers=session.header)
    client.delete(f"/api/online/{user.id}", headers=admin.header)
    assert ban(client, admin, user, seconds=1).json()["data"]["until"] is None
    time.sleep(1.1)

    assert code_of(client.post("/api/auth/login", json=credentials(user))) == (403, "account_banned")


def test_bans_and_kicks_are_told_to_the_log(site: Site, client: httpx.Client, admin: Session) -> None:
    user = site.user()
    for path in (f"/api/online/{user.id}/web", f"/api/online/{user.id}"):
        log_in(client, user)
        client.delete(path, headers=admin.header | {"X-Request-Id": f"kick-{user.id}"})
    ban(client, admin, user, seconds=60, reason="for a reason that is nobody's business")
    client.delete(f"/api/online/{user.id}/ban", headers=admin.header)
    events = [
        line
        for line in site.service.log
        if line.get("event_type") == "security" and line.get("login_id") == str(user.id)
    ]

    assert [line["event"] for line in events] == [
        "a session of a user was ended",
        "all sessions of a user were ended",
        "a user was banned",
        "the ban of a user was cleared",
    ]
    assert site.service.line_of(f"kick-{user.id}")["user_id"] == int(admin.claims["sub"])
    assert "nobody's business" not in str(events)


def test_a_ban_of_nobody_is_not_found(client: httpx.Client, admin: Session) -> None:
    assert code_of(ban(client, admin, User(999_999, "nobody"))) == (404, "not_found")


def test_callers_who_may_see_online_users_may_not_end_them(site: Site, client: httpx.Client) -> None:
    auditor, user = log_in(client, site.user("auditor")), site.user()
    session = log_in(client, user)
    assert client.get("/api/online/list", headers=auditor.header).status_code == 200
    for answer in (
        client.delete(f"/api/online/{user.id}", headers=auditor.header),
        client.delete(f"/api/online/{user.id}/web", headers=auditor.header),
        ban(client, auditor, user),
        client.delete(f"/api/online/{user.id}/ban", headers=auditor.header),
    ):
        assert code_of(answer) == (403, "permission_denied")

    assert code_of(client.get("/api/online/list", headers=session.header)) == (403, "permission_denied")
    assert works(client, session)


def test_the_list_pages_filters_and_counts_exactly(site: Site) -> None:
    device = "pager"
    with site.client(PROXY) as client:
        admin = log_in(client, site.user("super"), "desk")
        users = [site.user() for _ in range(7)]
        for number, user in enumerate(users):
            log_in(client, user, device, X_Forwarded_For=f"203.0.113.{number % 2 + 1}", User_Agent=FIREFOX)

        def listed(**query: object) -> dict[str, Any]:
            parameters = {name: str(value) for name, value in query.items()}
            answer = client.get("/api/online/list", headers=admin.header, params=parameters)
            assert answer.status_code == 200, answer.text
            data: dict[str, Any] = answer.json()["data"]
            return data

        def ids(page: dict[str, Any]) -> list[int]:
            return [int(item["loginId"]) for item in page["items"]]

        newest_first = [user.id for user in reversed(users)]
        pages = [listed(device=device, page=number, size=3) for number in (1, 2, 3, 4)]
        assert [ids(page) for page in pages] == [
            newest_first[:3],
            newest_first[3:6],
            newest_first[6:],
            [],
        ]
        assert {page["total"] for page in pages} == {7}
        seen, cursor = ids(pages[0]), pages[0]["nextCursor"]
        while cursor:
            page = listed(device=device, size=3, cursor=cursor)
            seen, cursor = seen + ids(page), page["nextCursor"]
        assert seen == newest_first

        assert listed(device=device, loginIp="203.0.113.2")["total"] == 3
        assert listed(device=device, userName=users[2].name)["total"] == 1
        assert listed(device=device, userName="user-*")["total"] == 0
        (row,) = listed(device=device, userName=users[1].name)["items"]
        assert row.pop("loginTime").endswith("Z")
        assert row == {
            "loginId": str(users[1].id),
            "userName": users[1].name,
            "nickName": users[1].name.title(),
            "device": device,
            "loginIp": "203.0.113.2",
            "userAgent": FIREFOX,
            "browser": "Firefox 145",
            "os": "Linux",
        }
        client.delete(f"/api/online/{users[0].id}", headers=admin.header)
        assert listed(device=device)["total"] == 6
        wrong = client.get("/api/online/list", headers=admin.header, params={"cursor": "x"})
        assert code_of(wrong) == (422, "validation_failed")


def test_a_refreshed_session_stays_one_in_the_list(site: Site, client: httpx.Client, admin: Session) -> None:
    user = site.user()
    session = log_in(client, user, "renewed")
    for _ in range(5):
        session = session_of(renew(client, session))
    page = client.get("/api/online/list", headers=admin.header, params={"device": "renewed"}).json()["data"]

    assert (page["total"], [item["loginId"] for item in page["items"]]) == (1, [str(user.id)])
