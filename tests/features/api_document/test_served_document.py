"""The OpenAPI document as it is served: where, when it is made, and what it leaves out."""

from typing import Any

import anyio
import pytest
from openapi_spec_validator import validate

from service.endpoints.health import Live
from service.features.api_document import api as api_document
from service.features.api_document.api import add_document
from service.features.api_document.document import openapi
from service.web.requests import operation
from service.web.requests.application import Application
from service.web.requests.middleware import RequestMiddleware
from service.web.requests.routes import Routes
from tests.web.driver import ask
from tests.web.example_service import OpenGate


def documented(server: str = "/") -> RequestMiddleware:
    app = Application()
    table = Routes(app, OpenGate())
    table.add_outside("/health/live", Live())
    add_document(table, info={"title": "Example", "version": "1.0"}, server=server)
    table.check([])
    return RequestMiddleware(app)


APP = documented()


async def test_the_openapi_document_is_served_and_valid() -> None:
    answer = await ask(APP, "GET", "/docs/openapi.json")
    assert answer.header("content-type") == "application/json"
    validate(answer.json)
    assert answer.json["info"]["title"] == "Example"
    assert list(answer.json["paths"]) == ["/health/live"]
    assert answer.json["servers"] == [{"url": "/"}]


async def test_the_openapi_document_is_also_where_programs_look_for_it() -> None:
    usual = await ask(APP, "GET", "/openapi.json")
    documented_at = await ask(APP, "GET", "/docs/openapi.json")
    assert (usual.status, usual.body) == (200, documented_at.body)
    for header in ("content-type", "content-security-policy", "etag", "cache-control"):
        assert usual.header(header) == documented_at.header(header)


async def test_the_openapi_document_names_the_public_address_of_the_service() -> None:
    document = (await ask(documented("https://access.example.com"), "GET", "/openapi.json")).json
    validate(document)
    assert document["servers"] == [{"url": "https://access.example.com"}]


async def test_the_openapi_document_is_made_once_when_it_is_first_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[object] = []

    def counted(*arguments: Any, **named: Any) -> dict[str, Any]:
        made.append(arguments)
        return openapi(*arguments, **named)

    monkeypatch.setattr(api_document, "openapi", counted)
    app = documented()
    assert made == []
    async with anyio.create_task_group() as both:
        both.start_soon(ask, app, "GET", "/docs/openapi.json")
        both.start_soon(ask, app, "GET", "/docs/openapi.json")
    await ask(app, "GET", "/docs/openapi.json")
    assert len(made) == 1


async def test_a_second_app_reads_no_annotations_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    documented()

    def unread(*_arguments: object) -> None:
        raise AssertionError("the annotations are read again")

    monkeypatch.setattr(operation, "get_type_hints", unread)
    documented()
