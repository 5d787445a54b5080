"""The service describes itself, wholly and from its own files."""

import json
import re
from html.parser import HTMLParser
from typing import Any

import httpx
import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from service.authz.engine.rules import ENDPOINT
from service.authz.publishing.shipped import read_shipped
from service.kernel.fields import camel
from tests.support.without import GONE, is_served

OUTSIDE = ("GET /.well-known/authzen-configuration", "GET /health/live", "GET /health/ready")
"""Operations of the document about which the policy is not asked."""


class Links(HTMLParser):
    """Collects what a page loads or leads to."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.feed(page)

    def handle_starttag(self, _tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.targets += [value or "" for name, value in attrs if name in ("href", "src")]


@pytest.fixture
def document(client: httpx.Client) -> dict[str, Any]:
    answer = client.get("/docs/openapi.json")
    assert answer.headers["content-type"] == "application/json"
    document: dict[str, Any] = answer.json()
    return document


def with_equal_parts_once(document: dict[str, Any]) -> dict[str, Any]:
    """Return the same document, with one object for equal parts: the validator checks each object once."""
    parts: dict[str, Any] = {}
    once: dict[str, Any] = json.loads(
        json.dumps(document), object_hook=lambda part: parts.setdefault(repr(part), part)
    )
    return once


def operations(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {
        f"{method.upper()} {path}": operation
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    }


def test_the_openapi_document_is_valid(document: dict[str, Any]) -> None:
    assert document["openapi"].startswith("3.1.")
    OpenAPIV31SpecValidator(with_equal_parts_once(document)).validate()


def test_it_lists_every_endpoint_of_the_policy_with_its_permissions(document: dict[str, Any]) -> None:
    required = {name: ["@anyone"] for name in filter(is_served, OUTSIDE)}
    for layer, name, code in read_shipped(off=GONE).endpoints:
        if layer != ENDPOINT:
            continue
        shown = re.sub(r"\{([^}]+)\}", lambda parameter: f"{{{camel(parameter[1])}}}", name)
        required.setdefault(shown, []).append(code)
    listed = {name: sorted(operation["x-permissions"]) for name, operation in operations(document).items()}
    assert listed == {name: sorted(codes) for name, codes in required.items()}


def test_it_asks_for_a_token_where_the_policy_does(client: httpx.Client, document: dict[str, Any]) -> None:
    guarded = {
        name: any("proxyKey" in way for way in ways)
        for name, operation in operations(document).items()
        if (ways := operation.get("security", document.get("security"))) and {} not in ways
    }
    assert guarded["GET /api/role/list"] is False
    proxied = "GET /access/v1/forward/nginx/{service}"
    assert guarded.get(proxied) is (True if is_served(proxied) else None)
    assert "POST /oauth/token" not in guarded
    for name, by_proxy in guarded.items():
        method, path = name.split()
        answer = client.request(method, re.sub(r"\{[^}]+\}", "1", path))
        assert answer.status_code == (403 if by_proxy else 401), name
        assert not by_proxy or answer.json()["code"] == "proxy_refused", name
