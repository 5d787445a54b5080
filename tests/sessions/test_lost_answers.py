"""Clients that never got the answer to a refresh go on with the token that they have."""

from __future__ import annotations

import json
import socket
import time
from concurrent.futures import ThreadPoolExecutor

import httpx

from tests.sessions.conftest import Mortal
from tests.sessions.site import Session, Site, at_once, code_of, log_in, renew, session_of, works
from tests.support.outages import frozen

SESSIONS = 12


def renewed(client: httpx.Client, session: Session) -> httpx.Response:
    """Refresh as a client does: while the service is unavailable, the same token is sent again."""
    until = time.monotonic() + 20
    answer = renew(client, session)
    while answer.status_code == 503 and time.monotonic() < until:
        time.sleep(0.2)
        answer = renew(client, session)
    return answer


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
    answers = at_once(site, 40, lambda each_client, _number: renew(each_client, session))
    won = [answer for answer in answers if answer.status_code == 200]
    lost = [answer for answer in answers if answer.status_code != 200]

    assert len(won) == 1
    assert {code_of(answer) for answer in lost} == {(401, "refresh_rejected")}
    assert {answer.json()["reason"] for answer in lost} == {"superseded"}
    assert works(client, session_of(won[0]))
