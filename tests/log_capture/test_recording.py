"""What is kept of paths, queries, bodies and answers, by the types of an operation alone."""

from collections.abc import AsyncGenerator
from typing import Annotated, Any

import msgspec
import pytest
from msgspec import Meta, Struct

from service.app import check_routes
from service.audit.collector import Collector
from service.audit.redaction import REDACTED, is_sensitive, kept
from service.authz.publishing.shipped import read_shipped
from service.errors import Conflict, ValidationFailed
from service.kernel.coded_sentences import Sentence
from service.records.logs.events import LoginEvent, OperationEvent
from service.web.content.streams import Stream
from service.web.messages.context import RequestContext
from service.web.messages.operation_metadata import Operation, logged, needs, public, sends, writes
from service.web.messages.schema import Schema, schema_of
from service.web.requests.application import Application
from service.web.requests.middleware import RequestMiddleware
from service.web.requests.recording import Recording
from service.web.requests.routes import Routes
from tests.support.cases import with_each
from tests.support.schema_examples import example_of
from tests.web.driver import JSON, ask
from tests.web.example_service import OpenGate

CANARY = "canary-7f3b"
BROKEN = f"{CANARY} in the wrong field"


class Account(Schema):
    name: str
    new_password: str = ""
    more: Any = None


class Search(Schema):
    name: str | None = None
    api_key: str | None = None


class Accounts:
    @needs("account:create", refuses=[Conflict])
    @writes("create", "INSERT", module="account")
    async def on_post(self, _context: RequestContext, body: Account, query: Search) -> Account:
        """Make an account."""
        if body.name == BROKEN:
            raise ValidationFailed(("name", Sentence("must be a name")))
        if body.name == "taken":
            raise Conflict(Sentence("There is one of that name"))
        return Account(body.name, body.new_password or str(query.api_key), body.more)

    @needs("account:create")
    @writes("replace", "UPDATE", module="account", keeps="nothing")
    async def on_put(self, _context: RequestContext, body: Account, query: Search) -> Account:
        """Replace an account."""
        return Account(query.name or body.name)


class Download:
    @needs("account:list")
    @logged("export", "EXPORT", module="account")
    @sends("text/csv")
    async def on_get(self, _context: RequestContext) -> Stream:
        """Break off in the middle."""
        return Stream(self._chunks(), "text/csv")

    async def _chunks(self) -> AsyncGenerator[bytes, None]:
        yield b"name\r\n"
        raise RuntimeError("the rest can't be read")


class Link:
    @public()
    @logged("open", "QUERY", module="link")
    async def on_get(self, _context: RequestContext, name: str) -> None:
        """Open a link."""


class OneToken:
    @needs("token:delete")
    @writes("end", "DELETE", module="token")
    async def on_delete(
        self, _context: RequestContext, name: Annotated[str, Meta(examples=["a"])], token_id: int
    ) -> None:
        """End a token."""


@pytest.fixture
def collector() -> Collector:
    return Collector(1_000_000)


@pytest.fixture
def app(collector: Collector) -> RequestMiddleware:
    app = Application()
    routes = Routes(app, OpenGate())
    routes.add("/api/account", Accounts())
    routes.add("/api/account/export", Download())
    routes.add("/api/link/{name}", Link())
    routes.add("/api/account/{name}/token/{token_id}", OneToken())
    return RequestMiddleware(app, record=collector.operation)


class Bundle(Struct):
    """What a collector hands on."""

    operations: list[OperationEvent]
    logins: list[LoginEvent]


def entries(collector: Collector) -> list[OperationEvent]:
    bundle = collector.bundle()
    assert bundle is not None
    collector.handed_on()
    return msgspec.json.decode(bundle.content, type=Bundle).operations


def only(collector: Collector) -> OperationEvent:
    (event,) = entries(collector)
    return event


async def test_members_with_sensitive_names_are_withheld_in_every_place(
    app: RequestMiddleware, collector: Collector
) -> None:
    body = f'{{"name": "ann", "newPassword": "{CANARY}", "more": [{{"Secret": "{CANARY}", "x": 1}}]}}'
    answer = await ask(app, "POST", f"/api/account?name=a&apiKey={CANARY}", JSON, body=body.encode())
    event = only(collector)

    assert answer.status == 200
    withheld = {"name": "ann", "newPassword": REDACTED, "more": [{"Secret": REDACTED, "x": 1}]}
    assert event.params == {"query": {"name": "a", "apiKey": REDACTED}, "body": withheld}
    assert event.response == {"data": withheld}
    assert event.query == f"name=a&apiKey={REDACTED}"


async def test_where_the_mark_says_so_neither_parameters_nor_answer_are_kept(
    app: RequestMiddleware, collector: Collector
) -> None:
    await ask(app, "PUT", "/api/account?name=a", JSON, body=b'{"name": "ann"}')
    await ask(app, "PUT", "/api/account", JSON, body=b'{"name": 7}')
    passed, refused = entries(collector)
    assert (passed.params, passed.response, passed.status) == (None, None, 200)
    assert (refused.params, refused.response, refused.error) == (None, None, "validation_failed")


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ("name=a%20b", "name=a%20b"),
        ("", None),
        (f"name=a&{CANARY}=x", "name=\u2026"),
        (f"name=a&name={CANARY}", "name=\u2026"),
        (f"apiKey={CANARY}&x", "apiKey=\u2026"),
        (f"{CANARY}", ""),
    ],
)
async def test_of_a_query_that_was_refused_only_known_names_are_kept(
    app: RequestMiddleware, collector: Collector, query: str, shown: str | None
) -> None:
    await ask(app, "POST", f"/api/account?{query}", JSON, body=b'{"name": "ann"}')
    assert only(collector).query == shown


@pytest.mark.parametrize(
    "body",
    [
        f'{{"name": "ann", "{CANARY}": 1}}',
        f'{{"name": "ann", "pw": "{CANARY}"}}',
        f'{{"name": ["{CANARY}"]}}',
        f'{{"name": "{CANARY}"',
        f'"{CANARY}"',
        f'{{"name": "{CANARY}", "name": "b"}}',
    ],
)
async def test_nothing_is_kept_of_a_body_that_was_refused(
    app: RequestMiddleware, collector: Collector, body: str
) -> None:
    await ask(app, "POST", "/api/account", JSON, body=body.encode())
    event = only(collector)
    assert event.status in (400, 422)
    assert CANARY not in str(event)


async def test_nothing_is_kept_of_a_body_that_only_a_rule_refuses(
    app: RequestMiddleware, collector: Collector
) -> None:
    body = msgspec.json.encode({"name": BROKEN, "more": CANARY})
    answer = await ask(app, "POST", f"/api/account?name={CANARY}", JSON, body=body)
    event = only(collector)
    assert (event.status, event.error, event.params, event.query) == (
        422,
        "validation_failed",
        None,
        "name=\u2026",
    )
    assert event.response == answer.json | {"requestId": event.request_id}
    assert CANARY not in str(event)


async def test_a_body_that_breaks_no_rule_is_kept_also_when_the_call_is_refused(
    app: RequestMiddleware, collector: Collector
) -> None:
    await ask(app, "POST", "/api/account?name=a", JSON, body=b'{"name": "taken", "more": 1}')
    event = only(collector)
    assert (event.status, event.error, event.query) == (409, "conflict", "name=a")
    assert event.params["body"]["name"] == "taken"


async def test_the_path_of_a_public_route_may_be_a_key_and_is_not_kept(
    app: RequestMiddleware, collector: Collector
) -> None:
    assert (await ask(app, "GET", f"/api/link/{CANARY}")).status == 200
    event = only(collector)
    assert (event.url, event.params) == ("/api/link/{name}", None)


async def test_nor_is_a_parameter_of_the_path_with_a_sensitive_name(
    app: RequestMiddleware, collector: Collector
) -> None:
    await ask(app, "DELETE", "/api/account/ann/token/7")
    event = only(collector)
    assert (event.url, event.params) == ("/api/account/ann/token/{token_id}", {"path": {"name": "ann"}})


async def test_text_in_a_path_turns_no_line(app: RequestMiddleware, collector: Collector) -> None:
    await ask(app, "DELETE", "/api/account/a%E2%80%AEb/token/7")
    assert only(collector).url == "/api/account/a\\u202eb/token/{token_id}"


async def test_an_answer_that_breaks_off_says_so(app: RequestMiddleware, collector: Collector) -> None:
    with pytest.raises(RuntimeError):
        await ask(app, "GET", "/api/account/export")
    event = only(collector)
    assert (event.status, event.error, event.response) == (200, "cut_off", None)


async def test_without_a_log_calls_are_answered_all_the_same() -> None:
    app = Application()
    Routes(app, OpenGate()).add("/api/account", Accounts())
    assert (
        await ask(RequestMiddleware(app), "POST", "/api/account", JSON, body=b'{"name": "ann"}')
    ).status == 200


OPERATIONS = check_routes(read_shipped()).operations
LOGGED = [operation for operation in OPERATIONS if operation.metadata.logged is not None]

UNKEPT = {
    "POST /api/auth/login",
    "POST /api/auth/refresh",
    "PUT /api/user/profile/password",
    "PUT /api/user/{id}/password",
    "POST /api/file",
}
"""What the specification keeps out of the log altogether."""


def test_whatever_changes_something_is_logged() -> None:
    writes = [operation for operation in OPERATIONS if operation.method != "GET"]
    assert {operation.object for operation in writes if not operation.metadata.asks} == {
        operation.object for operation in LOGGED if operation.method != "GET"
    }


def test_logins_refreshes_passwords_and_uploads_keep_neither_parameters_nor_answers() -> None:
    marks = {operation.object: operation.metadata.logged for operation in LOGGED}
    assert marks.keys() >= UNKEPT
    kept_of = {
        name: (metadata.params, metadata.response) for name in UNKEPT if (metadata := marks[name]) is not None
    }
    assert kept_of == dict.fromkeys(UNKEPT, (False, False))


def with_canaries(value: Any, name: str = "") -> Any:
    """Return ``value`` with a canary in the place of everything below a sensitive name."""
    if is_sensitive(name):
        return CANARY
    if isinstance(value, dict):
        return {key: with_canaries(below, key) for key, below in value.items()}
    return [with_canaries(below) for below in value] if isinstance(value, list) else value


@with_each("operation", LOGGED)
def test_whatever_else_has_a_sensitive_name_in_its_types_is_redacted(operation: Operation) -> None:
    metadata, signature = operation.metadata.logged, operation.signature
    assert metadata is not None
    recording = Recording(operation, metadata)
    for keeps, kind, redacts in (
        (metadata.params, signature.body, recording.redacts_params),
        (metadata.params, signature.query, recording.redacts_params),
        (recording.keeps_answer, signature.answer, recording.redacts_response),
    ):
        if keeps and kind is not None:
            (schema,), components = msgspec.json.schema_components(
                [kind], schema_hook=schema_of, ref_template="#/components/schemas/{name}"
            )
            example = {"data": with_canaries(example_of(schema, components))}
            assert CANARY not in bytes(kept(msgspec.json.encode(example), redact=redacts)).decode()
