"""What works of Falcon in an extension: each row of the table for its authors is tried."""

import functools
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import falcon
import pytest

from service.app.extensions import ExtensionRoutes
from service.extending import Extension, NotFound, Refusal, RequestContext
from service.web.requests.application import Application
from service.web.requests.middleware import RequestMiddleware
from service.web.requests.operation import SignatureError
from service.web.requests.routes import Routes, RoutesError
from tests.docs.pages import ROOT, between, rows
from tests.web.driver import JSON, Answer, ask
from tests.web.example_service import OpenGate

PATH = "/api/shop"
SHOP = Extension(name="shop", title="Shop", policies=Path(), add_routes=lambda _routes, _offered: None)

Responder = Callable[..., Awaitable[Any]]


def endpoint(name: str, responder: Callable[..., Any]) -> object:
    """Return an endpoint whose method ``name`` is ``responder``."""
    return type("Endpoint", (), {name: staticmethod(responder)})()


def served(added: object, template: str = PATH) -> RequestMiddleware:
    """Return a service with ``added``, an endpoint of an extension."""
    app = Application()
    ExtensionRoutes(Routes(app, OpenGate()), SHOP).add(template, added)
    return RequestMiddleware(app)


async def answer(responder: Responder, path: str = PATH, *headers: tuple[str, str]) -> Answer:
    """Return what a ``GET`` of ``responder`` is answered."""
    return await ask(served(endpoint("on_get", responder)), "GET", path, *headers)


async def plain(_context: RequestContext) -> str:
    """Answer."""
    return "plain"


async def test_responders_with_request_and_response_refuse_the_start() -> None:
    """on_get(self, req, resp)"""

    async def on_get(_req: falcon.asgi.Request, _resp: falcon.asgi.Response) -> None:
        """Answer."""

    def not_async(_context: RequestContext) -> None:
        """Answer."""

    for responder in (on_get, not_async):
        with pytest.raises(SignatureError):
            served(endpoint("on_get", responder))


@pytest.mark.parametrize("method", ["HEAD", "OPTIONS", "WEBSOCKET"])
async def test_responders_of_other_methods_are_never_called(method: str) -> None:
    """on_head, on_options, on_websocket"""
    both = endpoint("on_get", plain)
    setattr(both, f"on_{method.lower()}", plain)
    refused = await ask(served(both), method, PATH)

    assert (refused.status, refused.header("allow")) == (405, "GET")


async def test_a_route_has_no_suffix() -> None:
    """suffix="""
    routes: Any = ExtensionRoutes(Routes(Application(), OpenGate()), SHOP)

    with pytest.raises(TypeError, match="suffix"):
        routes.add(PATH, endpoint("on_get_all", plain), suffix="all")


@pytest.mark.parametrize("template", [f"{PATH}/{{number:int}}", f"{PATH}/{{number}}.json"])
async def test_fields_with_converters_or_within_segments_refuse_the_start(template: str) -> None:
    """{id:int}, {id}.json"""

    async def on_get(_context: RequestContext, number: int) -> int:
        return number

    with pytest.raises(RoutesError):
        served(endpoint("on_get", on_get), template)
    seven = await ask(served(endpoint("on_get", on_get), f"{PATH}/{{number}}"), "GET", f"{PATH}/7")
    assert seven.json == {"data": 7}


@pytest.mark.parametrize("hook", [falcon.before, falcon.after])
async def test_hooks_of_falcon_fail_and_a_decorator_does_not(hook: Any) -> None:
    """falcon.before, falcon.after"""

    async def act(_req: Any, resp: Any, *_more: Any) -> None:
        resp.set_header("x-hook", "falcon")

    def noting(responder: Responder) -> Responder:
        @functools.wraps(responder)
        async def wrapped(self: Any, context: RequestContext, **arguments: Any) -> Any:
            context.respond_header("X-Hook", "own")
            return await responder(self, context, **arguments)

        return wrapped

    class Endpoint:
        async def on_get(self, _context: RequestContext) -> str:
            return "plain"

        on_post = hook(act)(on_get)
        on_put = noting(on_get)

    service = served(Endpoint())
    failed, noted = [await ask(service, method, PATH) for method in ("POST", "PUT")]

    assert failed.code == "internal_error"
    assert (noted.status, noted.header("x-hook")) == (200, "own")


async def test_what_falcons_application_is_told_does_nothing() -> None:
    """add_middleware, add_error_handler, add_sink, add_static_route"""

    class Component:
        async def process_request(self, _req: Any, _resp: Any) -> None:
            raise AssertionError("it was called")

    async def handled(*_arguments: Any, **_more: Any) -> None:
        raise AssertionError("it was called")

    app = Application()
    routes = ExtensionRoutes(Routes(app, OpenGate()), SHOP)
    routes.add(PATH, endpoint("on_get", plain))
    app.add_middleware(Component())
    app.add_error_handler(Refusal, handled)
    app.add_sink(handled, f"{PATH}/sink")
    app.add_static_route(f"{PATH}/static", str(ROOT))
    service = RequestMiddleware(app)

    offered = {name for name in dir(routes) if not name.startswith("_")}
    assert offered == {"add"}
    assert (await ask(service, "GET", PATH)).json == {"data": "plain"}
    for path in (f"{PATH}/sink", f"{PATH}/static/README.md"):
        assert (await ask(service, "GET", path)).code == "not_found"


def raising(error: Exception) -> Responder:
    async def on_get(_context: RequestContext) -> None:
        raise error

    return on_get


async def test_falcons_errors_are_refusals_without_their_messages() -> None:
    """falcon.HTTPNotFound and others for 400, 404, 413 and 415"""
    errors = (
        falcon.HTTPBadRequest(),
        falcon.HTTPNotFound(description="what was there"),
        falcon.HTTPContentTooLarge(),
        falcon.HTTPUnsupportedMediaType(),
    )
    refused = [await answer(raising(error)) for error in (*errors, NotFound())]

    assert [refusal.status for refusal in refused] == [400, 404, 413, 415, 404]
    assert b"what was there" not in refused[1].body


async def test_other_errors_and_statuses_of_falcon_lose_their_status() -> None:
    """Other errors of Falcon, HTTPStatus, redirects"""

    class Sold(Refusal):
        """It is sold."""

        status = 410
        code = "shop_sold"
        title = "It is sold"

    errors = (falcon.HTTPConflict(), falcon.HTTPServiceUnavailable(), falcon.HTTPStatus(202), Sold())
    refused = [await answer(raising(error)) for error in (*errors, falcon.HTTPFound("/elsewhere"))]

    assert [refusal.status for refusal in refused] == [400, 500, 500, 410, 500]


async def test_the_head_of_a_request_is_read_by_falcon() -> None:
    """req.get_header, req.cookies, req.method, req.path"""

    async def on_get(context: RequestContext) -> list[str]:
        request = context.request
        assert context.address == "192.0.2.7"
        return [request.get_header("X-Asked") or "", request.cookies["a"], request.method, request.path]

    read = await answer(on_get, PATH, ("X-Asked", "yes"), ("Cookie", "a=b"))
    assert read.json == {"data": ["yes", "b", "GET", PATH]}


async def test_the_context_of_falcons_request_keeps_values() -> None:
    """req.context"""

    async def on_get(context: RequestContext) -> str:
        context.request.context.kept = "kept"
        return context.request.context.kept  # type: ignore[no-any-return]

    assert (await answer(on_get)).json == {"data": "kept"}


async def test_parameters_that_are_not_declared_are_refused() -> None:
    """req.params, req.get_param"""

    async def on_get(context: RequestContext) -> list[str]:
        return list(context.request.params)

    assert (await answer(on_get)).json == {"data": []}
    assert (await answer(on_get, f"{PATH}?a=b")).code == "validation_failed"


async def test_media_and_stream_are_read_without_a_limit() -> None:
    """req.get_media, req.stream"""

    async def media(context: RequestContext) -> int:
        return len(await context.request.get_media())

    async def stream(context: RequestContext) -> int:
        return len(await context.request.stream.read())

    body = b'"' + b"a" * 2_000_000 + b'"'  # JSON bodies that are declared may have half of that
    lengths = [
        (await ask(served(endpoint("on_post", responder)), "POST", PATH, JSON, body=body)).json["data"]
        for responder in (media, stream)
    ]
    assert lengths == [len(body) - 2, len(body)]


async def test_the_template_is_that_of_the_operation() -> None:
    """req.uri_template"""

    async def on_get(context: RequestContext) -> list[str | None]:
        assert context.operation is not None
        return [context.request.uri_template, context.operation.template]

    assert (await answer(on_get)).json == {"data": [None, PATH]}


async def test_headers_are_added_to_the_context() -> None:
    """resp.set_header, resp.media, media handlers"""

    async def on_get(context: RequestContext) -> None:
        assert not hasattr(context, "response")
        context.respond_header("X-Shop", "open")

    assert (await answer(on_get)).header("x-shop") == "open"


def test_each_row_of_the_table_is_tried() -> None:
    table = rows(between((ROOT / "docs/guides/add-endpoints.md").read_text(encoding="utf-8"), "falcon"))
    tried = [test.__doc__ for name, test in globals().items() if name.startswith("test_") and test.__doc__]

    assert [cells[0].replace("`", "") for cells in table] == tried
