"""Each proxy before gunicorn, which cuts the header ``SCRIPT_NAME`` off the path: no client moves it."""

import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.features.decisions.decision_point import PROXY_KEY, RESOURCES, DecisionPoint
from tests.support.app_servers import serving
from tests.support.cases import with_each
from tests.support.proxies import Front, Recorder, exchange, front
from tests.web.served import strictly_served

# The wheels of the last two are large.
KINDS = ["caddy", "nginx", *(pytest.param(kind, marks=pytest.mark.extended) for kind in ("traefik", "envoy"))]
OPEN = "GET /pub/orders/7"
SERVED = {"mount": "", "below": "/pub/orders/7", "asked": None}
MOVING = ("SCRIPT_NAME: /pub", "script_name: /pub", "Script-Name: /pub", "PATH_INFO: /orders/7")


@pytest.fixture(scope="module")
async def gunicorn(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[int]:
    """An application that knows nothing of Portcullis."""
    async with serving("gunicorn", tmp_path_factory.mktemp("gunicorn"), "plain") as port:
        yield port


@pytest.fixture(scope="module", params=KINDS)
async def proxy(
    request: pytest.FixtureRequest, gunicorn: int, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Front]:
    point = DecisionPoint([*RESOURCES, "orders GET /pub/orders/{id}, @anyone"])
    async with AsyncExitStack() as stack:
        port = await stack.enter_async_context(strictly_served(point.app))
        folder = tmp_path_factory.mktemp(request.param)
        yield await stack.enter_async_context(
            front(request.param, folder, port, Recorder(port=gunicorn), key=PROXY_KEY)
        )


async def test_gunicorn_moves_the_path_for_a_header_from_this_machine(gunicorn: int) -> None:
    """What the other tests are about: without it they would show nothing."""
    raw = b"GET /pub/orders/7 HTTP/1.1\r\nHost: orders.test\r\nSCRIPT_NAME: /pub\r\nConnection: close\r\n\r\n"
    got = await exchange(gunicorn, raw)
    assert json.loads(got.body) == {"mount": "/pub", "below": "/orders/7", "asked": None}


async def test_an_application_that_believes_assertions_refuses_it_by_itself(tmp_path: Path) -> None:
    async with serving("gunicorn", tmp_path, "asserted") as port:
        for header in MOVING[0], "X-Request-Id: 1":
            raw = f"GET /pub/orders/7 HTTP/1.1\r\nHost: x\r\n{header}\r\nConnection: close\r\n\r\n"
            got = await exchange(port, raw.encode())
            assert got.status == (400 if header in MOVING else 200)


@with_each("header", MOVING)
async def test_the_path_behind_the_decision_is_the_one_decided_about(proxy: Front, header: str) -> None:
    answer, _ = await proxy.send(OPEN)
    assert (answer.status, json.loads(answer.body)) == (200, SERVED)
    answer, _ = await proxy.send(OPEN, header)
    reported: Any = json.loads(answer.body) if answer.status == 200 else None
    # Caddy and nginx drop names with "_"; a refusal of the decision point becomes a 500 of nginx.
    assert reported == SERVED or answer.status in (400, 500)
