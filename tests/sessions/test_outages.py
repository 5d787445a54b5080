"""Sessions while the store is away or was not asked, and clients that never got the answer to a refresh."""

import json
import socket
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager

import httpx
import pytest

from service.features.embedded.server import Server
from tests.sessions.conftest import Mortal
from tests.sessions.site import (
    Session,
    Site,
    at_once,
    code_of,
    credentials,
    log_in,
    renew,
    renewed,
    session_of,
    works,
)
from tests.support.waiting import eventually, frozen, stopped

BOUND = 10.0  # seconds in which every request is answered, however busy the machine is


@pytest.mark.parametrize(("gone", "seconds"), [(stopped, 1.0), (frozen, 2.5)])
def test_without_the_store_nothing_about_sessions_passes_and_all_is_as_before_once_it_is_back(
    mortal: Mortal, gone: Callable[[Server], AbstractContextManager[None]], seconds: float
) -> None:
    site = mortal.site
    admin_user, user = site.user("super"), site.user()
    with site.client() as client:
        admin, session = log_in(client, admin_user), log_in(client, user)
        requests: list[Callable[[], httpx.Response]] = [
            lambda: client.post("/api/auth/login", json=credentials(user)),
            lambda: renew(client, session),
            lambda: client.post("/api/auth/logout", headers=session.header),
            lambda: client.post("/api/auth/logout/all", headers=session.header),
            lambda: client.get("/api/auth/sessions", headers=session.header),
            lambda: client.get("/api/online/list", headers=admin.header),
            lambda: client.delete(f"/api/online/{user.id}", headers=admin.header),
            lambda: client.post(f"/api/online/{user.id}/ban", headers=admin.header, json={}),
        ]
        slowest = 0.0
        with gone(mortal.stores.valkey), ThreadPoolExecutor(len(requests)) as threads:
            until = time.monotonic() + seconds
            while time.monotonic() < until:
                started = time.monotonic()
                for answer in threads.map(lambda request: request(), requests):
                    assert code_of(answer) == (503, "unavailable")
                    assert int(answer.headers["retry-after"]) >= 1
                slowest = max(slowest, time.monotonic() - started)

        assert slowest < BOUND
        assert eventually(lambda: client.get("/health/ready").status_code == 200)
        assert works(client, admin)
        # What was asked for meanwhile was refused before anything was done: not even the refresh is spent.
        assert works(client, session)
        assert works(client, session_of(renew(client, session)))


def test_a_store_that_comes_back_empty_knows_nobody(mortal: Mortal) -> None:
    site = mortal.site
    with site.client() as client, site.store() as store:
        user = site.user()
        session = log_in(client, user)
        store.flushall()

        assert not works(client, session)
        assert renew(client, session).json()["reason"] == "unknown"
        assert works(client, log_in(client, user))


def test_an_access_token_works_on_whatever_happens_to_its_session(unchecked_site: Site) -> None:
    site = unchecked_site
    with site.client() as client:
        user, admin = site.user(), log_in(client, site.user("super"))
        session = log_in(client, user)
        ways_to_end_it = [
            ("POST", "/api/auth/logout", session),
            ("DELETE", f"/api/online/{user.id}", admin),
            ("POST", f"/api/online/{user.id}/ban", admin),
        ]
        for method, path, whose in ways_to_end_it:
            client.request(method, path, headers=whose.header)
            assert client.get("/api/user/info", headers=session.header).status_code == 200


def test_refresh_and_login_are_checked_all_the_same(unchecked_site: Site) -> None:
    site = unchecked_site
    with site.client() as client:
        user, admin = site.user(), log_in(client, site.user("super"))
        session = log_in(client, user)
        client.post("/api/auth/logout", headers=session.header)
        answer = renew(client, session)
        assert (code_of(answer), answer.json()["reason"]) == ((401, "refresh_rejected"), "ended")

        session = log_in(client, user)
        client.post(f"/api/online/{user.id}/ban", headers=admin.header, json={})
        assert code_of(renew(client, session)) == (403, "account_banned")
        assert code_of(client.post("/api/auth/login", json=credentials(user))) == (403, "account_banned")


def test_a_token_that_is_wrong_is_refused_all_the_same(unchecked_site: Site) -> None:
    with unchecked_site.client() as client:
        session = log_in(client, unchecked_site.user())
        refresh = {"Authorization": f"Bearer {session.refresh}"}
        assert code_of(client.get("/api/user/info", headers=refresh)) == (401, "token_invalid")
        assert code_of(client.get("/api/online/list", headers=session.header)) == (403, "permission_denied")


SESSIONS = 12


def test_every_session_outlives_a_store_that_freezes_amid_refreshes(mortal: Mortal) -> None:
    site = mortal.site
    users = [site.user() for _ in range(SESSIONS)]

    def refresh(number: int) -> httpx.Response:
        with site.client() as client:
            return renewed(client, sessions[number])

    with site.client() as client:
        sessions = [log_in(client, user) for user in users]
        for pause in (0.01, 0.05):
            with ThreadPoolExecutor(SESSIONS) as threads:
                answers = [threads.submit(refresh, number) for number in range(SESSIONS)]
                time.sleep(pause)
                with frozen(mortal.stores.valkey):
                    time.sleep(1.5)
            sessions = [session_of(answer.result()) for answer in answers]
        assert all(works(client, session) for session in sessions)


def test_a_client_that_hangs_up_amid_a_refresh_repeats_it(mortal: Mortal) -> None:
    site = mortal.site
    with site.client() as client:
        session = log_in(client, site.user())
        for _ in range(5):
            with frozen(mortal.stores.valkey):  # so that no answer is out before the client has gone
                _send_and_hang_up(site, session)
                time.sleep(0.02)
            session = session_of(renewed(client, session))
        assert works(client, session)


def _send_and_hang_up(site: Site, session: Session) -> None:
    body = json.dumps({"refreshToken": session.refresh}).encode()
    address = httpx.URL(site.service.url)
    head = (
        f"POST /api/auth/refresh HTTP/1.1\r\nHost: {address.netloc.decode()}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    with socket.create_connection((address.host, address.port or 80)) as connection:
        connection.sendall(head.encode() + body)


def test_of_forty_refreshes_of_one_token_one_succeeds_and_the_others_are_superseded(
    site: Site, client: httpx.Client
) -> None:
    session = log_in(client, site.user())
    answers = at_once(site, 40, lambda each_client, _number: renewed(each_client, session))
    won = [answer for answer in answers if answer.status_code == 200]
    lost = [answer for answer in answers if answer.status_code != 200]

    assert len(won) == 1
    assert {code_of(answer) for answer in lost} == {(401, "refresh_rejected")}
    assert {answer.json()["reason"] for answer in lost} == {"superseded"}
    assert works(client, session_of(won[0]))
