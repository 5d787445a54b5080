"""The OpenAPI document of the service itself: what generators of clients read in it."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from service.app import check_routes
from service.authz.publishing.shipped import read_shipped
from service.web.openapi.document import openapi
from service.web.requests.description import Operation

Document = dict[str, Any]


@pytest.fixture(scope="module")
def served() -> list[Operation]:
    routes = check_routes(read_shipped())
    return [*routes.operations, *routes.outside]


@pytest.fixture(scope="module")
def document(served: list[Operation]) -> Document:
    made = openapi(served, title="Portcullis", version="1", description="All of it.")
    decoded: Document = json.loads(msgspec.json.encode(made))
    return decoded


def test_no_member_of_a_component_has_a_default(document: Document) -> None:
    schemas = document["components"]["schemas"]
    assert "device" in schemas["Credentials"]["properties"]
    assert "device" not in schemas["Credentials"]["required"]
    defaults = [
        f"{name}.{member}"
        for name, schema in schemas.items()
        for member, told in schema.get("properties", {}).items()
        if "default" in told
    ]
    assert defaults == []
