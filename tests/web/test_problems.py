import asyncio

import falcon
import msgspec
import pytest

from service.errors import Conflict, Refusal, TokenExpired, Unavailable
from service.web.messages.context import RequestContext
from service.web.requests.application import Application, Message
from service.web.requests.middleware import RequestMiddleware
from service.web.requests.problems import document, refusal_of, refusals
from service.web.requests.routes import Routes
from tests.support.cases import with_each
from tests.web.driver import JSON, ask
from tests.web.example_service import OpenGate, example

APP, _ = example()


async def test_a_refusal_becomes_a_problem_document() -> None:
    answer = await ask(APP, "POST", "/api/thing", JSON, ("X-Request-Id", "r1"), body=b'{"userName":"twice"}')
    assert answer.status == 409
    assert answer.header("content-type") == "application/problem+json"
    assert answer.json == {
        "type": "/docs/errors#conflict",
        "title": "The request conflicts with the stored data",
        "status": 409,
        "detail": "There is such a thing already",
        "code": "conflict",
        "detailCode": "other",
        "params": {"sentence": "There is such a thing already"},
        "requestId": "r1",
    }


async def test_an_unknown_path_is_not_found() -> None:
    answer = await ask(APP, "GET", "/api/nothing")
    assert (answer.status, answer.code) == (404, "not_found")


@with_each("method", ["DELETE", "OPTIONS", "HEAD", "PATCH", "TRACE", "CONNECT", "PROPFIND", "BREW", "get"])
async def test_any_other_method_is_not_allowed(method: str) -> None:
    answer = await ask(APP, method, "/api/thing")
    assert (answer.status, answer.header("allow")) == (405, "GET, POST")
    if method != "HEAD":
        assert answer.code == "method_not_allowed"
    else:
        assert answer.body == b""


async def test_falcons_own_word_for_websockets_is_a_method_like_any_other() -> None:
    answer = await ask(APP, "WEBSOCKET", "/api/thing")
    assert (answer.status, answer.code) == (405, "method_not_allowed")


async def test_a_fault_tells_nothing_and_keeps_no_promise() -> None:
    answer = await ask(APP, "GET", "/api/faulty")
    assert (answer.status, answer.code) == (500, "internal_error")
    assert b"hunter2" not in answer.body
    assert answer.header("set-cookie") is None


@with_each(
    ("error", "status", "code"),
    [
        (Conflict(), 409, "conflict"),
        (falcon.HTTPRouteNotFound(), 404, "not_found"),
        (falcon.HTTPBadRequest(description="you sent hunter2"), 400, "bad_request"),
        (falcon.HTTPInvalidHeader("hunter2", "Content-Length"), 400, "bad_request"),
        (falcon.HTTPMethodNotAllowed(["GET"]), 405, "method_not_allowed"),
        (falcon.HTTPContentTooLarge(), 413, "too_large"),
        (falcon.HTTPUnsupportedMediaType(), 415, "unsupported_media_type"),
        (falcon.HTTPNotAcceptable(), 400, "bad_request"),
        (falcon.HTTPInternalServerError(description="hunter2"), 500, "internal_error"),
        (RuntimeError("hunter2"), 500, "internal_error"),
    ],
)
async def test_every_error_is_one_refusal(error: Exception, status: int, code: str) -> None:
    refusal = refusal_of(error)
    assert (refusal.status, refusal.code) == (status, code)
    assert b"hunter2" not in document(refusal, "r1")


class Raises:
    def __init__(self, error: BaseException) -> None:
        self.error = error

    async def on_get(self, _context: RequestContext) -> None:
        """Raise."""
        raise self.error


def raising(error: BaseException) -> RequestMiddleware:
    app = Application()
    Routes(app, OpenGate()).add("/api/raises", Raises(error))
    return RequestMiddleware(app)


@pytest.mark.parametrize(
    ("refusal", "header", "value"),
    [
        (TokenExpired(), "www-authenticate", 'Bearer error="invalid_token"'),
        (Unavailable(retry_after=3), "retry-after", "3"),
    ],
)
async def test_a_refusal_brings_its_headers(refusal: Refusal, header: str, value: str) -> None:
    assert (await ask(raising(refusal), "GET", "/api/raises")).header(header) == value


async def test_a_header_of_more_than_one_line_is_a_fault_and_is_not_sent() -> None:
    refusal = Conflict(headers={"X-Broken": "a\r\nSet-Cookie: b"})
    answer = await ask(raising(refusal), "GET", "/api/raises")
    assert (answer.status, answer.header("x-broken")) == (500, None)


async def test_cancellation_is_no_error_to_answer() -> None:
    with pytest.raises(asyncio.CancelledError):
        await ask(raising(asyncio.CancelledError()), "GET", "/api/raises")


async def test_half_an_answer_is_left_to_the_server_to_cut_off() -> None:
    sent = []

    async def send(message: Message) -> None:
        sent.append(message["type"])
        if message["type"] == "http.response.body":
            raise RuntimeError("the rest is missing")

    async def receive() -> Message:
        return {"type": "http.disconnect"}

    scope = {"type": "http", "method": "GET", "path": "/api/open", "raw_path": b"/api/open"}
    with pytest.raises(RuntimeError, match="the rest is missing"):
        await APP({**scope, "query_string": b"", "headers": []}, receive, send)
    assert sent == ["http.response.start", "http.response.body"]


def test_every_code_is_there_once() -> None:
    codes = [refusal.code for refusal in refusals()]
    assert len(codes) == len(set(codes))
    assert {"permission_denied", "login_failed", "internal_error", "method_not_allowed"} <= set(codes)


def test_extra_members_stand_in_the_document() -> None:
    refusal = Conflict(field="roleName")
    assert msgspec.json.decode(document(refusal, "r1"))["field"] == "roleName"
