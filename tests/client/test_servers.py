"""Behind each server for Python: what is asked about is what is served, whatever a client sends."""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

import pytest

from tests.client.decision_points import ALICE
from tests.support.app_servers import SERVERS, marked, serving
from tests.support.cases import with_each
from tests.support.proxies import exchange

MOUNT = "/pub"


@dataclass
class Behind:
    """A guarded application behind the server ``name``, mounted at ``mount``."""

    name: str
    port: int
    mount: str

    async def get(self, target: str, *headers: str) -> tuple[int, dict[str, Any]]:
        """Return the status, and what the application tells of the request: nothing if it was refused."""
        lines = [f"GET {target} HTTP/1.1", "Host: orders.test", "Connection: close"]
        lines += [f"Authorization: Bearer {ALICE}", *headers, "", ""]
        got = await exchange(self.port, "\r\n".join(lines).encode("latin-1"))
        return got.status, json.loads(got.body) if got.status == 200 else {}


async def _behind(name: str, folders: pytest.TempPathFactory, mount: str) -> AsyncIterator[Behind]:
    async with serving(name, folders.mktemp(name), mount=mount) as port:
        yield Behind(name, port, mount)


@pytest.fixture(scope="module", params=marked())
async def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Behind]:
    async for behind in _behind(request.param, tmp_path_factory, ""):
        yield behind


@pytest.fixture(scope="module", params=marked(mountable=True))
async def mounted(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Behind]:
    async for behind in _behind(request.param, tmp_path_factory, MOUNT):
        yield behind


def is_whole(body: dict[str, Any], mount: str) -> bool:
    """True if the application serves what was asked about, below ``mount``."""
    return bool(body["mount"] == mount and unquote(body["asked"]) == mount + body["below"])


MOVING = (
    "SCRIPT_NAME: /pub",
    "script_name: /pub",
    "Script-Name: /pub",
    "PATH_INFO: /orders/7",
    "Path-Info: /orders/7",
    "Daphne-Root-Path: /pub",
    "daphne_root_path: /pub",
    "X-Script-Name: /pub",
    "X_Script_Name: /pub",
    "X-Original-URL: /orders/7",
    "X-Rewrite-URL: /orders/7",
    "X-Forwarded-Prefix: /pub",
)


@with_each("header", MOVING)
async def test_no_header_moves_the_path(server: Behind, header: str) -> None:
    status, body = await server.get("/pub/orders/7", header)
    # Some servers drop what they do not need, and names with "_".
    assert status == 400 or body == {"mount": "", "below": "/pub/orders/7", "asked": "/pub/orders/7"}


@with_each("target", ["/orders/7", "/orders/7?x=/y", "/orders/", "/orders/a-b_c~d.e"])
async def test_a_plain_path_is_served_and_asked_about(server: Behind, target: str) -> None:
    path = target.partition("?")[0]
    assert await server.get(target) == (200, {"mount": "", "below": path, "asked": path})


ODD = (
    "//orders//7",
    "/orders/../secrets",
    "/orders/%2e%2e/secrets",
    "/orders%2F7",
    "/orders/%37",
    "/orders/caf%C3%A9",
    "/orders/%E9",
    "/orders/7%00",
    "/orders/7;v=1",
    "/orders/7#/secrets",
    "http://other.test/orders/7",
)


@with_each("target", ODD)
async def test_a_path_that_is_served_is_the_one_asked_about(server: Behind, target: str) -> None:
    status, body = await server.get(target)
    assert status in (400, 404) or is_whole(body, "")


async def test_a_mounted_application_is_asked_about_by_the_whole_path(mounted: Behind) -> None:
    sent = "/orders/7" if SERVERS[mounted.name].puts_there else "/pub/orders/7"
    expected = {"mount": MOUNT, "below": "/orders/7", "asked": "/pub/orders/7"}
    assert await mounted.get(sent) == (200, expected)


@with_each(
    "target",
    ["/orders/7", "/public/orders/7", "/Pub/orders/7", "//pub/orders/7", "/x/orders/7", "/pub%2Forders/7"],
)
async def test_outside_of_its_mount_nothing_else_is_asked_about(mounted: Behind, target: str) -> None:
    status, body = await mounted.get(target)
    # Some servers refuse it by themselves, gunicorn by 500.
    assert status in (400, 404, 500) or is_whole(body, MOUNT)


@with_each("header", [header.replace("/pub", "/pub/orders") for header in MOVING])
async def test_no_header_moves_the_mount(mounted: Behind, header: str) -> None:
    status, body = await mounted.get("/pub/orders/7", header)
    assert status == 400 or is_whole(body, MOUNT)
