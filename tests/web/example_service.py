"""A small service with one endpoint for each thing that the tests ask about."""

from __future__ import annotations

from enum import Enum
from typing import Annotated, Any

from msgspec import Meta, field

from service.authz.engine.refused import Requestable
from service.errors import Conflict, NotFound, PreconditionFailed
from service.kernel.coded_sentences import Sentence
from service.kernel.value_rules import whole
from service.web.messages.context import RequestContext
from service.web.messages.operation_metadata import Operation, login, needs, public, writes
from service.web.messages.schema import Id, Page, PageQuery, Schema
from service.web.requests.application import Application
from service.web.requests.cors import CrossOrigin
from service.web.requests.guard import AuthorizationGuard
from service.web.requests.middleware import RequestMiddleware
from service.web.requests.routes import Routes


class Colour(Enum):
    RED = "red"
    GREEN = "green"


class Part(Schema):
    part_name: str
    weight: int = 0


class NewThing(Schema):
    """What a thing is made of."""

    user_name: Annotated[str, Meta(min_length=1, max_length=8, examples=["alice"])]
    colour: Colour = Colour.RED
    count: Annotated[int, Meta(ge=0, le=99)] = 0
    parts: list[Part] = field(default_factory=list)
    labels: dict[str, str] = field(default_factory=dict)
    short_code: Annotated[str, Meta(pattern=whole("[a-z]{2}"), examples=["ab"])] | None = None

    def __post_init__(self) -> None:
        if self.count == 13:
            raise ValueError("Thirteen things are bad luck")


class Thing(Schema):
    id: Id
    user_name: str
    colour: Colour
    children: list[Thing] = field(default_factory=list)


class ThingFilter(PageQuery):
    user_name: str | None = None
    colour: Colour | None = None
    deep: Annotated[bool, Meta(description="Look into the parts too.")] = False


class Anything(Schema):
    anything: Any = None


class Things:
    @needs("thing:list", "thing:create")
    async def on_get(self, context: RequestContext, query: ThingFilter) -> Page[Thing]:
        """List things.

        Filters add up.
        """
        things = [Thing(1, query.user_name or "", query.colour or Colour.RED)]
        return Page(items=things, page=query.page, size=query.size, total=context.user.user_id)

    @needs("thing:create", refuses=[Conflict])
    @writes(
        "create",
        "INSERT",
        module="thing",
        example={"userName": "thing", "shortCode": "ab"},
        created="/api/thing/{id}",
    )
    async def on_post(self, _context: RequestContext, body: NewThing) -> Thing:
        """Make a thing."""
        if body.user_name == "twice":
            raise Conflict(Sentence("There is such a thing already"))
        return Thing(1, body.user_name, body.colour)


class Echo(Schema):
    page: int
    size: int
    user_name: str
    colour: Colour | None
    deep: bool


class EchoOfQuery:
    @login()
    async def on_get(self, _context: RequestContext, query: ThingFilter) -> Echo:
        """Tell what was asked."""
        name = "-" if query.user_name is None else query.user_name
        return Echo(query.page, query.size, name, query.colour, query.deep)


class OneThing:
    @needs("thing:list", refuses=[NotFound])
    async def on_get(self, _context: RequestContext, id: int) -> Thing:  # noqa: A002 - the name in the template
        """Read a thing."""
        if id == 404:
            raise NotFound
        return Thing(id, "x" * (id % 8), Colour.GREEN)

    @needs("thing:delete", refuses=[PreconditionFailed])
    async def on_delete(self, _context: RequestContext, id: int) -> None:  # noqa: A002 - as above
        """Delete a thing."""


class PartOfThing:
    @login()
    async def on_get(
        self,
        _context: RequestContext,
        id: int,  # noqa: A002 - as above
        name: Annotated[str, Meta(max_length=3, examples=["abc"])],
    ) -> str:
        """Read a part."""
        return f"{id}/{name}"


class Faulty:
    @login()
    async def on_get(self, context: RequestContext) -> None:
        """Fail, after promising a cookie and a page."""
        context.respond_header("Set-Cookie", "promise=1")
        context.respond_header("Content-Security-Policy", "script-src *")
        raise RuntimeError("the password is hunter2")


class Open:
    @public()
    async def on_get(self, context: RequestContext) -> dict[str, str]:
        """Tell what is known of the caller."""
        context.respond_header("X-One", "1")
        context.respond_header("X-Two", "2")
        return {
            "address": context.address,
            "userAgent": context.user_agent,
            "caller": "nobody" if context.caller is None else context.caller.user_name,
        }

    @public()
    async def on_put(self, _context: RequestContext, body: Anything) -> None:
        """Take anything."""


TEMPLATES = {
    "/api/thing": Things(),
    "/api/echo": EchoOfQuery(),
    "/api/thing/{id}": OneThing(),
    "/api/thing/{id}/part/{name}": PartOfThing(),
    "/api/faulty": Faulty(),
    "/api/open": Open(),
}


class OpenGate(AuthorizationGuard):
    """Lets everybody in as nobody; for tests in which the gate is not the thing tested."""

    def __init__(self) -> None:
        """Need nothing."""

    async def admit(self, _context: RequestContext, _operation: Operation) -> None:
        """Admit."""


def example(
    guard: AuthorizationGuard | None = None,
    cross_origin: CrossOrigin | None = None,
    requestable: Requestable | None = None,
) -> tuple[RequestMiddleware, Routes]:
    app = Application()
    routes = Routes(app, guard or OpenGate(), cross_origin=cross_origin)
    for template, endpoint in TEMPLATES.items():
        routes.add(template, endpoint)
    return RequestMiddleware(app, cross_origin=cross_origin, requestable=requestable), routes
