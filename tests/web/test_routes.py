import sys
from collections.abc import Callable
from typing import Any

import pytest

from service.authz.engine.rules import Rule
from service.web.messages.context import RequestContext
from service.web.messages.operation_metadata import (
    Responders,
    login,
    needs,
    public,
    subrequest,
    writes,
)
from service.web.messages.schema import Schema
from service.web.requests.application import Application
from service.web.requests.middleware import RequestMiddleware
from service.web.requests.operation import SignatureError
from service.web.requests.routes import Routes, RoutesError
from tests.support.cases import with_each
from tests.web.driver import ask
from tests.web.example_service import OpenGate


class Marked:
    @needs("a:b", "a:c")
    async def on_get(self, _context: RequestContext) -> None:
        """Read."""

    @login()
    @writes("delete", "DELETE")
    async def on_delete(self, _context: RequestContext) -> None:
        """Delete."""


class Unlogged:
    @login()
    async def on_get(self, _context: RequestContext) -> None:
        """Read."""

    @login()
    async def on_patch(self, _context: RequestContext) -> None:
        """Write."""


class Unmarked:
    async def on_get(self, _context: RequestContext) -> None:
        """Read."""

    async def on_put(self, _context: RequestContext) -> None:
        """Write."""


MARKED_RULES = [
    Rule("endpoint", "GET /api/marked", "a:b"),
    Rule("endpoint", "GET /api/marked", "a:c"),
    Rule("endpoint", "DELETE /api/marked", "@login"),
]


def routes() -> Routes:
    return Routes(Application(), OpenGate())


def faults_of(table: Routes, rules: list[Rule]) -> tuple[str, ...]:
    with pytest.raises(RoutesError) as raised:
        table.check(rules)
    return raised.value.faults


async def test_routes_that_agree_with_the_lines_are_served() -> None:
    table = routes()
    table.add("/api/marked", Marked())
    table.check(MARKED_RULES)
    assert [(operation.object, operation.access) for operation in table.operations] == [
        ("GET /api/marked", ("a:b", "a:c")),
        ("DELETE /api/marked", ("@login",)),
    ]


async def test_every_route_without_a_mark_is_named() -> None:
    table = routes()
    table.add("/api/unmarked", Unmarked())
    table.add("/api/marked", Marked())
    faults = faults_of(table, MARKED_RULES)
    assert [fault.partition(":")[0] for fault in faults] == ["GET /api/unmarked", "PUT /api/unmarked"]


async def test_every_route_that_changes_something_without_an_entry_in_the_log_is_named() -> None:
    table = routes()
    table.add("/api/unlogged", Unlogged())
    rules = [Rule("endpoint", f"{method} /api/unlogged", "@login") for method in ("GET", "PATCH")]
    assert faults_of(table, rules) == ("PATCH /api/unlogged: it changes something, and has no @writes",)


async def test_a_route_without_an_endpoint_line_is_named() -> None:
    table = routes()
    table.add("/api/marked", Marked())
    (fault,) = faults_of(table, MARKED_RULES[:2])
    assert fault.startswith("DELETE /api/marked: ")


async def test_an_endpoint_line_that_says_something_else_is_named() -> None:
    table = routes()
    table.add("/api/marked", Marked())
    (fault,) = faults_of(table, [*MARKED_RULES[1:], Rule("endpoint", "GET /api/marked", "@login")])
    assert fault.startswith("GET /api/marked: ")


class AtItsTemplate(Responders, at="/api/of-this-module/{name}"):
    """An endpoint with its template, made from one part."""

    def __init__(self, part: str) -> None:
        self.part = part

    @login()
    async def on_get(self, _context: RequestContext, name: str) -> str:
        """Read something."""
        return self.part + name


class WithoutTemplate(Responders):
    """A base of endpoints."""


async def test_all_endpoints_of_a_module_are_served_where_their_heads_say() -> None:
    table = routes()
    table.serve_all(sys.modules[__name__], "made of this")
    (operation,) = table.operations
    assert (operation.object, operation.access) == ("GET /api/of-this-module/{name}", ("@login",))


async def test_an_endpoint_whose_head_names_no_template_is_not_served() -> None:
    with pytest.raises(RoutesError, match="WithoutTemplate"):
        routes().serve(WithoutTemplate())


async def test_an_entry_of_the_operation_log_is_about_the_noun_of_the_route() -> None:
    table = routes()
    table.add("/api/marked", Marked())
    entries = [operation.metadata.logged for operation in table.operations]
    assert [entry and entry.module for entry in entries] == [None, "marked"]


@with_each(
    "template",
    ["api/x", "/api/x/", "/api//x", "/api/{id:int}", "/api/{id}.json", "/api/a b", "/api/", "/other"],
)
async def test_a_template_that_no_policy_line_can_name_is_refused(template: str) -> None:
    with pytest.raises(RoutesError):
        routes().add(template, Marked())


async def test_a_template_is_registered_once() -> None:
    table = routes()
    table.add("/api/marked", Marked())
    with pytest.raises(RoutesError):
        table.add("/api/marked", Unmarked())


async def test_an_endpoint_without_a_responder_is_refused() -> None:
    with pytest.raises(RoutesError):
        routes().add("/api/nothing", object())


async def test_outside_the_group_nothing_is_guarded_and_nothing_is_marked() -> None:
    table = routes()
    table.add_outside("/outside", Unmarked())
    table.check([])
    table.add_outside("/marked", Marked())
    assert [fault.partition(":")[0] for fault in faults_of(table, [])] == ["GET /marked", "DELETE /marked"]


@pytest.mark.parametrize("group", ["/api", "/access"])
async def test_a_group_is_not_served_from_outside(group: str) -> None:
    table = routes()
    with pytest.raises(RoutesError):
        table.add_outside(f"{group}/marked", Marked())
    table.add(f"{group}/marked", Marked())
    assert len(faults_of(table, [])) == 2


class AskedByProxies:
    @needs("a:b")
    @subrequest()
    async def on_get(self, _context: RequestContext) -> None:
        """Decide."""


async def test_what_proxies_ask_is_one_operation_alone_at_its_template() -> None:
    table = routes()
    table.add("/access/question", AskedByProxies())
    assert [operation.object for operation in table.operations] == ["GET /access/question"]
    mixed = type("Mixed", (AskedByProxies,), {"on_delete": Marked.on_delete})
    with pytest.raises(RoutesError):
        table.add("/access/other", mixed())


async def test_outside_the_group_unknown_parameters_are_ignored() -> None:
    app = Application()
    Routes(app, OpenGate()).add_outside("/outside", Unmarked())
    assert (await ask(RequestMiddleware(app), "GET", "/outside?verbose=1")).status == 200


async def test_outside_the_group_the_gate_is_not_asked() -> None:
    class Shut(OpenGate):
        async def admit(self, context: RequestContext, operation: Any) -> None:
            raise AssertionError(context, operation)

    app = Application()
    Routes(app, Shut()).add_outside("/outside", Unmarked())
    assert (await ask(RequestMiddleware(app), "GET", "/outside")).status == 200


class Body(Schema):
    name: str


class NoBody(Schema):
    name: complex


async def no_call() -> None: ...
async def call_without_a_type(context) -> None: ...  # type: ignore[no-untyped-def]  # noqa: ANN001 - the fault
async def no_answer(_context: RequestContext): ...  # type: ignore[no-untyped-def]
async def no_such_field(_context: RequestContext, name: str) -> None: ...
async def body_is_no_struct(_context: RequestContext, body: dict[str, str]) -> None: ...
async def query_is_no_struct(_context: RequestContext, query: str) -> None: ...
async def answer_is_no_json(_context: RequestContext) -> complex: ...  # type: ignore[empty-body]  # never called
async def body_is_no_json(_context: RequestContext, body: NoBody) -> None: ...
def not_async(_context: RequestContext, body: Body) -> None: ...


@with_each(
    "function",
    [
        no_call,
        call_without_a_type,
        no_answer,
        no_such_field,
        body_is_no_struct,
        query_is_no_struct,
        answer_is_no_json,
        body_is_no_json,
        not_async,
    ],
)
async def test_a_responder_whose_annotations_do_not_fit_is_refused(function: Callable[..., Any]) -> None:
    endpoint = type("Endpoint", (), {})()
    endpoint.on_post = public()(function)
    with pytest.raises(SignatureError):
        routes().add("/api/fault", endpoint)


async def test_a_field_that_the_responder_does_not_take_is_refused() -> None:
    with pytest.raises(SignatureError):
        routes().add("/api/{id}", Marked())
