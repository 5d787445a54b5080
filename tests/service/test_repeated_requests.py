"""Requests with an ``Idempotency-Key`` over real connections, to two workers."""

import json
import secrets
import socket
import struct
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx

from tests.support.running import Running
from tests.support.waiting import eventually

AT_ONCE = 8


def button(name: str) -> dict[str, Any]:
    return {"menuType": "Button", "title": "Open", "authMark": f"{name}:open"}


def buttons(client: httpx.Client, administrator: dict[str, str], name: str) -> list[int]:
    """Return the ids of the Buttons that ``name`` was given to."""
    response = client.get("/api/menu/list", params={"authMark": f"{name}:open"}, headers=administrator)
    return [menu["id"] for menu in response.json()["data"]["items"]]


def test_a_repetition_gets_the_answer_that_a_cut_connection_has_lost(
    service: Running, client: httpx.Client, administrator: dict[str, str]
) -> None:
    key, body = {"Idempotency-Key": secrets.token_hex(16)}, json.dumps(button("cut"))
    headers = {
        "Host": "x",
        "Content-Type": "application/json",
        "Content-Length": str(len(body)),
        **key,
        **administrator,
    }
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    with socket.create_connection(("127.0.0.1", service.port), timeout=20) as connection:
        connection.sendall(f"POST /api/menu HTTP/1.1\r\n{head}\r\n{body}".encode())
        assert eventually(lambda: bool(buttons(client, administrator, "cut")))
        # Closed by a reset: of the answer not a byte has been read.
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    again = client.post("/api/menu", json=button("cut"), headers={**key, **administrator})

    assert (again.status_code, again.headers.get("idempotency-replayed")) == (201, "true")
    assert [again.json()["data"]["id"]] == buttons(client, administrator, "cut")
    assert again.headers["etag"] == '"1"'
    assert again.json()["data"]["policyRevision"] <= int(again.headers["x-policy-revision"])


def test_of_equal_requests_to_two_workers_at_once_one_is_served(
    service: Running, client: httpx.Client, administrator: dict[str, str]
) -> None:
    key = {"Idempotency-Key": secrets.token_hex(16)}

    def posted(_number: int) -> httpx.Response:
        with service.client() as mine:  # a connection of its own, to either worker
            return mine.post("/api/menu", json=button("race"), headers={**key, **administrator})

    with ThreadPoolExecutor(AT_ONCE) as threads:
        answers = list(threads.map(posted, range(AT_ONCE)))

    served = [answer for answer in answers if answer.status_code == 201]
    refused = [answer for answer in answers if answer.status_code != 201]
    assert [answer.headers.get("idempotency-replayed") for answer in served].count(None) == 1
    assert len({answer.content for answer in served}) == 1
    assert {
        (answer.status_code, answer.json()["code"], answer.headers["retry-after"]) for answer in refused
    } <= {(409, "request_under_way", "1")}
    assert [served[0].json()["data"]["id"]] == buttons(client, administrator, "race")
