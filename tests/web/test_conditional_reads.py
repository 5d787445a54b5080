from __future__ import annotations

import pytest

from service.web.messages.context import RequestContext
from service.web.messages.operation_metadata import named, needs, tagged
from service.web.messages.schema import Schema
from service.web.requests.application import Application
from service.web.requests.middleware import RequestMiddleware
from service.web.requests.routes import Routes
from tests.web.driver import ask
from tests.web.example_service import OpenGate

pytestmark = pytest.mark.anyio


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
