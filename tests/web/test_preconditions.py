"""Entity tags: reads that answer none of what the client has, and writes that name a version."""

from __future__ import annotations

from typing import Any

import falcon.testing
import pytest

from service.errors import BadRequest, PreconditionFailed
from service.web.messages.context import RequestContext
from service.web.messages.operation_metadata import named, needs, tagged
from service.web.messages.preconditions import answer_tag, content_tag, require_match, version_tag
from service.web.messages.request import Request
from service.web.messages.schema import Schema
from service.web.requests.application import Application
from service.web.requests.middleware import RequestMiddleware
from service.web.requests.routes import Routes
from tests.web.driver import ask
from tests.web.example_service import OpenGate

pytestmark = pytest.mark.anyio


def call_with(*if_match: str) -> RequestContext:
    async def receive() -> dict[str, Any]:
        return {"type": "http.disconnect"}

    scope: dict[str, Any] = falcon.testing.create_scope()
    scope["headers"] = [(b"if-match", value.encode()) for value in if_match]
    context = RequestContext(scope)
    context.request = Request(scope, receive)
    return context


@pytest.mark.parametrize("given", ['"7"', "*", ' "6" , "7"', '"6","7","8"', ',"7",', '"a,b", "7"'])
def test_a_request_that_names_the_record_may_change_it(given: str) -> None:
    require_match(call_with(given), version_tag(7))


def test_a_request_without_if_match_may_change_it() -> None:
    require_match(call_with(), version_tag(7))


def test_several_headers_are_one_list() -> None:
    require_match(call_with('"6"', '"7"'), version_tag(7))


@pytest.mark.parametrize("given", ['"6"', '"77"', 'W/"7"', '"6", "8"', '"x,7"', '"6,"7,8""'])
def test_a_request_that_names_another_version_is_refused(given: str) -> None:
    with pytest.raises((PreconditionFailed, BadRequest)):
        require_match(call_with(given), version_tag(7))


@pytest.mark.parametrize("given", ["7", "", '"7', "'7'", '"7" "8"', '*, "7"', '"7"x', '""7""'])
def test_what_is_no_list_of_entity_tags_is_a_bad_request(given: str) -> None:
    with pytest.raises(BadRequest):
        require_match(call_with(given), version_tag(7))


def test_the_tag_of_a_content_depends_on_all_that_is_shown() -> None:
    assert content_tag({"ids": [1, 2]}) == content_tag({"ids": [1, 2]})
    assert len({content_tag(shown) for shown in ([], [1], [2], [12], [1, 2], {"ids": [1, 2]})}) == 6
    require_match(call_with(content_tag([1])), content_tag([1]))


def test_a_tag_is_answered_as_etag() -> None:
    context = call_with()
    answer_tag(context, version_tag(7))
    assert context.headers == [(b"etag", b'"7"')]


class Thing(Schema):
    """A thing."""

    name: str


class Forgetful:
    """A conditional read that adds no tag."""

    def __init__(self) -> None:
        self.name = "winch"

    @needs("thing:read")
    @tagged
    @named("readThing")
    async def on_get(self, _context: RequestContext) -> Thing:
        """Read a thing."""
        return Thing(self.name)


async def test_a_conditional_read_that_adds_no_tag_has_that_of_its_content() -> None:
    app, thing = Application(), Forgetful()
    Routes(app, OpenGate()).add("/api/thing", thing)
    service = RequestMiddleware(app)

    first = await ask(service, "GET", "/api/thing")
    tag = first.header("etag")
    again = await ask(service, "GET", "/api/thing", ("If-None-Match", str(tag)))
    thing.name = "chain"
    changed = await ask(service, "GET", "/api/thing", ("If-None-Match", str(tag)))

    assert (first.status, first.json) == (200, {"data": {"name": "winch"}})
    assert (again.status, again.header("etag")) == (304, tag)
    assert (changed.status, changed.json) == (200, {"data": {"name": "chain"}})
