"""An orders service, guarded in every way of docs/guides/guard-a-service.md, and asked through each."""

from __future__ import annotations

import asyncio
import importlib
import runpy
import shutil
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias
from wsgiref.simple_server import WSGIRequestHandler, make_server

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from tests.docs.pages import ROOT
from tests.support.members import Member
from tests.support.proxies import Front, Recorder, Served, file_of_guide, front
from tests.web.served import served

PROGRAMS = ("asgi_orders", "fastapi_orders", "wsgi_orders", "flask_orders", "behind_proxy_orders")
PATH = "/orders/7"

Way: TypeAlias = Callable[[Member], Awaitable[int]]
"""Asks in one way for an order as a user; returns the status."""


def programs(folder: Path, monkeypatch: pytest.MonkeyPatch, url: str, key: str) -> dict[str, Any]:
    """Run the programs of the guide beside a copy of the client, as readers do; return their names."""
    shutil.copytree(ROOT / "service" / "features" / "decisions" / "client", folder / "portcullis_client")
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setenv("PORTCULLIS_URL", url)
    monkeypatch.setenv("PORTCULLIS_KEY", key)
    importlib.invalidate_caches()
    for name in PROGRAMS:
        (folder / f"{name}.py").write_text(file_of_guide(f"{name}.py"), encoding="utf-8")
    return {name: runpy.run_path(str(folder / f"{name}.py")) for name in PROGRAMS}


def forget_copy() -> None:
    """Let nobody import the copy any more."""
    for name in [name for name in sys.modules if name.startswith("portcullis_client")]:
        del sys.modules[name]


@dataclass
class Orders(Recorder):
    """The orders service by Starlette, which knows nothing of Portcullis; behind proxies."""

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Orders]:
        async def read(request: Request) -> PlainTextResponse:
            headers = [(name.decode(), value.decode()) for name, value in request.headers.raw]
            self.served.append(Served(f"{request.method} {request.url.path} HTTP/1.1", headers))
            return PlainTextResponse(f"order {request.path_params['id']}")

        app = Starlette(routes=[Route("/orders/{id}", read)])
        async with served(app) as self.port:  # type: ignore[arg-type]
            yield self


def by_proxy(proxy: Front) -> Way:
    async def ask(user: Member) -> int:
        answer, got = await proxy.send(f"GET {PATH}", f"Authorization: Bearer {user.token}")
        assert (got is not None) == (answer.status == 200)
        return answer.status

    return ask


def by_proxy_and_assertion(proxy: Front, app: Any) -> Way:
    """Hand what came through the proxy to a WSGI application that believes the assertion alone."""

    async def ask(user: Member) -> int:
        answer, got = await proxy.send(f"GET {PATH}", f"Authorization: Bearer {user.token}")
        if got is None:
            return answer.status
        (assertion,) = got.values("x-portcullis-assertion")
        environ = {"REQUEST_METHOD": "GET", "PATH_INFO": PATH, "HTTP_X_PORTCULLIS_ASSERTION": assertion}
        statuses: list[int] = []
        body = await asyncio.to_thread(app, environ, lambda status, _: statuses.append(int(status[:3])))
        assert f'"seenBy": "{user.name}"'.encode() in b"".join(body)
        return statuses[0]

    return ask


def by_request(url: str) -> Way:
    async def ask(user: Member) -> int:
        headers = {"Authorization": f"Bearer {user.token}"}
        # No certificates: reading them takes longer than the request.
        async with httpx.AsyncClient(trust_env=False, timeout=20, verify=False) as client:
            answer = await client.get(url + PATH, headers=headers)
        if answer.status_code == 200:
            assert answer.json() == {"id": "7", "seenBy": user.name}
        if answer.status_code == 403:
            assert '"required":["orders:order:read"]' in answer.text.replace(" ", "")
        return answer.status_code

    return ask


def by_authzen(key: str, **resource: Any) -> Way:
    async def ask(user: Member) -> int:
        body = {"subject": {"type": "user", "id": user.name}, "resource": resource, "action": {"name": "GET"}}
        answer = await user.service.ask("POST", "/access/v1/evaluation", body, token=key)
        assert answer.status == 200, answer.body
        return 200 if answer.json["decision"] is True else 403

    return ask


@contextmanager
def served_by_wsgi(app: Any) -> Iterator[int]:
    """Serve ``app`` by a server that does not tell the raw path; yield the port."""

    class Quiet(WSGIRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

    with make_server("127.0.0.1", 0, app, handler_class=Quiet) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()


@asynccontextmanager
async def guarded_orders(
    port: int, key: str, folder: Path, monkeypatch: pytest.MonkeyPatch, proxies: tuple[str, ...]
) -> AsyncIterator[dict[str, Way]]:
    """Run the orders service in all ways, guarded by the Portcullis at ``port``; yield the ways by name."""
    ran = programs(folder, monkeypatch, f"http://127.0.0.1:{port}", key)
    async with AsyncExitStack() as stack:
        stack.callback(forget_copy)
        orders = await stack.enter_async_context(Orders().running())
        ways: dict[str, Way] = {
            "a route by AuthZEN": by_authzen(key, type="route", id=PATH),
            "a code by AuthZEN": by_authzen(key, type="permission", id="orders:order:read"),
        }
        for kind in proxies:
            place = folder / kind
            place.mkdir()
            proxy = await stack.enter_async_context(front(kind, place, port, orders, key=key))
            ways[kind] = by_proxy(proxy)
        ways["assertion"] = by_proxy_and_assertion(proxy, ran["behind_proxy_orders"]["app"])
        stack.callback(ran["behind_proxy_orders"]["app"]._assertions.close)
        for name in "asgi_orders", "fastapi_orders":
            stack.push_async_callback(ran[name]["portcullis"].aclose)
            at = await stack.enter_async_context(served(ran[name]["app"]))
            ways[name] = by_request(f"http://127.0.0.1:{at}")
        for name in "wsgi_orders", "flask_orders":
            stack.callback(ran[name]["portcullis"].close)
            at = stack.enter_context(served_by_wsgi(ran[name]["app"]))
            ways[name] = by_request(f"http://127.0.0.1:{at}")
        yield ways
