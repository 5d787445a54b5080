"""Device sessions as their users see them over HTTP, under real concurrency."""

from urllib.parse import quote

import httpx

from tests.sessions.site import (
    Site,
    at_once,
    code_of,
    credentials,
    devices,
    log_in,
    renew,
    renewed,
    session_of,
    works,
)
from tests.support.cases import with_each

MOST = 5

NO_DEVICES = {
    "colon": "web:1",
    "star": "*",
    "question mark": "we?",
    "bracket": "[a-z]",
    "NUL": "web\0",
    "CRLF": "web\r\nX: 1",
    "10 KB": "w" * 10_240,
    "capital": "Web",
    "empty": "",
    "space": "web ",
    "not ASCII": "wéb",
    "hyphen first": "-a",
    "33 letters": "a" * 33,
}


def test_fifty_parallel_refreshes_of_one_token_have_one_winner(site: Site, client: httpx.Client) -> None:
    session = log_in(client, site.user())
    answers = at_once(site, 50, lambda each_client, _: renewed(each_client, session))
    winners = [answer for answer in answers if answer.status_code == 200]
    losers = [answer.json() for answer in answers if answer.status_code != 200]

    assert len(winners) == 1
    assert {(loser["code"], loser["reason"]) for loser in losers} == {("refresh_rejected", "superseded")}
    won = session_of(winners[0])
    assert works(client, won)
    assert devices(client, won) == ["web"]
    with site.store() as store:
        mine = [
            key for key in store.scan_iter("auth:refresh:*") if store.get(key) == f"{won.claims['sub']}:web"
        ]
    assert len(mine) == 1
    assert works(client, session_of(renew(client, won)))


def test_with_concurrent_login_off_a_login_ends_all_others(cookie_site: Site) -> None:
    user = cookie_site.user()
    with cookie_site.client() as client:

        def log_in_on(each_client: httpx.Client, number: int) -> str:
            body = credentials(user, f"device-{number}")
            token: str = each_client.post("/api/auth/login", json=body).json()["data"]["accessToken"]
            return token

        tokens = at_once(cookie_site, 8, log_in_on)
        statuses = [
            client.get("/api/user/info", headers={"Authorization": f"Bearer {token}"}).status_code
            for token in tokens
        ]

    assert sorted(statuses) == [200] + [401] * 7


def test_a_replaced_session_loses_access_at_once_at_every_worker(site: Site, client: httpx.Client) -> None:
    user = site.user()
    first = log_in(client, user)
    assert all(
        at_once(site, 8, lambda each_client, _: works(each_client, first))
    )  # each worker has verified it
    second = log_in(client, user)

    assert not any(at_once(site, 8, lambda each_client, _: works(each_client, first)))
    assert renew(client, first).json()["reason"] == "ended"
    assert works(client, second)


def test_a_logout_marks_the_other_devices_and_a_refresh_in_the_same_second_works(
    site: Site, client: httpx.Client
) -> None:
    user = site.user()
    here = log_in(client, user, "here")
    for _ in range(10):
        there = log_in(client, user, "there")
        assert client.post("/api/auth/logout", headers=there.header).json() == {"data": None}
        assert not works(client, there)
        assert not works(client, here)
        here = session_of(renew(client, here))
        assert works(client, here)
        assert devices(client, here) == ["here"]


def test_logging_out_everywhere_leaves_no_session_that_works(site: Site, client: httpx.Client) -> None:
    user = site.user()
    sessions = [log_in(client, user, f"device-{number}") for number in range(3)]
    answer = client.post("/api/auth/logout/all", headers=sessions[1].header)

    assert answer.json() == {"data": {"ended": 3}}
    assert not any(works(client, session) for session in sessions)
    assert {renew(client, session).json()["reason"] for session in sessions} == {"ended"}


def test_a_refresh_token_that_was_spent_before_the_race_window_ends_the_session(
    site: Site, client: httpx.Client
) -> None:
    user = site.user()
    stolen = log_in(client, user)
    current = session_of(renew(client, stolen))
    with site.store() as store:  # as if it had been spent a minute ago
        (note,) = [
            key for key in store.scan_iter("auth:spent:*") if f'"login_id":"{user.id}"' in str(store.get(key))
        ]
        text = str(store.get(note))
        spent = text.partition('"spent":')[2].partition(",")[0].rstrip("}")
        store.set(
            note, text.replace(f'"spent":{spent}', f'"spent":{float(spent) - 60_000:.0f}'), keepttl=True
        )

    answer = renew(client, stolen)
    assert (code_of(answer), answer.json()["reason"]) == ((401, "refresh_rejected"), "reused")
    assert not works(client, current)
    assert renew(client, current).json()["reason"] == "ended"
    (line,) = [line for line in site.service.log if line["event"].startswith("a spent refresh token")]
    assert (line["event_type"], line["login_id"], line["device"]) == ("security", str(user.id), "web")
    assert not any(token in str(line) for token in (stolen.refresh, current.refresh, current.access))


@with_each("form", NO_DEVICES)
def test_a_login_on_what_is_no_device_is_refused(site: Site, client: httpx.Client, form: str) -> None:
    answer = client.post("/api/auth/login", json=credentials(site.user()) | {"device": NO_DEVICES[form]})

    assert code_of(answer) == (422, "validation_failed")
    assert [error["field"] for error in answer.json()["errors"]] == ["device"]


def test_no_path_that_names_no_device_ends_a_session(site: Site, client: httpx.Client) -> None:
    user = site.user()
    session = log_in(client, user)
    for form, text in NO_DEVICES.items():
        answer = client.delete(f"/api/auth/sessions/{quote(text, safe='')}", headers=session.header)
        # Control characters, empty segments and very long paths are refused before any route is looked for.
        expected = 400 if form in ("NUL", "CRLF", "empty", "10 KB") else 422
        assert answer.status_code == expected, (form, answer.text)
    for path in ("/api/auth/sessions/*", "/api/auth/sessions/%2A", "/api/auth/sessions/w*"):
        assert code_of(client.delete(path, headers=session.header)) == (422, "validation_failed")

    assert works(client, session)
    assert devices(client, session) == ["web"]


def test_users_end_their_own_session_on_one_device(site: Site, client: httpx.Client) -> None:
    user, other = site.user(), site.user()
    theirs = log_in(client, other, "there")
    here, there = log_in(client, user, "here"), log_in(client, user, "there")
    assert client.delete("/api/auth/sessions/there", headers=here.header).json() == {"data": None}

    assert not works(client, there)
    assert renew(client, there).json()["reason"] == "ended"
    here = session_of(renew(client, here))
    assert code_of(client.delete("/api/auth/sessions/there", headers=here.header)) == (404, "not_found")
    assert works(client, here)
    assert works(client, theirs)
