"""Operations of OpenAPI documents as resources of another service."""

from typing import Any

import pytest

from service.features.tables.resource_import import DocumentError, operations_of
from service.kernel.services import Service
from tests.support.cases import with_each

ORDERS = Service("orders")


def document(paths: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"openapi": "3.1.0", "paths": paths, **more}


def test_operations_become_resources_with_suggested_codes() -> None:
    operations = operations_of(
        document(
            {
                "/orders": {"get": {"summary": "List  orders"}, "post": {"operationId": "createOrder"}},
                "/orders/{order-id}": {"parameters": [], "get": {}, "patch": {}, "delete": {}},
                "/orders/{id}/entries/": {"put": {}},
                "/": {"get": {}},
            }
        ),
        ORDERS,
    )

    assert [(operation.object, operation.name, operation.suggested) for operation in operations.imported] == [
        ("orders GET /orders", "List orders", "orders:order:list"),
        ("orders POST /orders", "createOrder", "orders:order:create"),
        ("orders GET /orders/{order_id}", "GET /orders/{order_id}", "orders:order:read"),
        ("orders DELETE /orders/{order_id}", "DELETE /orders/{order_id}", "orders:order:delete"),
        ("orders PATCH /orders/{order_id}", "PATCH /orders/{order_id}", "orders:order:update"),
        ("orders PUT /orders/{id}/entries/", "PUT /orders/{id}/entries/", "orders:entry:update"),
        ("orders GET /", "GET /", "orders:order:read"),
    ]
    assert operations.unusable == ()


@with_each(
    ("path", "method", "reason"),
    [
        ("/files/{name}.json", "get", "a parameter must be a whole segment"),
        ("/a%20b", "get", "a path starts with"),
        ("/a//b", "get", "a path starts with"),
        ("/a", "head", "HEAD is decided as GET"),
        ("/a", "trace", "resources have a method of"),
        ("/x/{b}", "get", "the router of orders takes it for GET /x/{a}"),
    ],
)
def test_what_can_not_be_registered_is_listed_with_the_reason(path: str, method: str, reason: str) -> None:
    operations = operations_of(document({"/x/{a}": {"get": {}}, path: {method: {}}}), ORDERS)

    assert [operation.object for operation in operations.imported] == ["orders GET /x/{a}"]
    (bad,) = operations.unusable
    assert bad.operation == f"{method.upper()} {path}"
    assert bad.reason.startswith(reason)


@pytest.mark.parametrize(
    ("more", "base"),
    [
        ({}, ""),
        ({"servers": [{"url": "https://a.example/v1/"}, {"url": "/v1"}]}, "/v1"),
        ({"servers": [{"url": "https://a.example"}]}, ""),
    ],
)
def test_paths_begin_with_the_path_of_the_servers(more: dict[str, Any], base: str) -> None:
    operations = operations_of(document({"/a": {"get": {}}}, **more), ORDERS)

    assert (operations.base, operations.imported[0].path) == (base, f"{base}/a")


def test_the_base_path_of_swagger_2_counts_and_a_named_one_wins() -> None:
    swagger = {"swagger": "2.0", "basePath": "/v2/", "paths": {"/a": {"get": {}}}}

    assert operations_of(swagger, ORDERS).imported[0].path == "/v2/a"
    assert operations_of(swagger, ORDERS, "/v3").imported[0].path == "/v3/a"


@with_each(
    "broken",
    [
        None,
        [],
        {"openapi": "3.0.0"},
        {"openapi": "4.0.0", "paths": {}},
        {"paths": {}},
        document({}, servers=[{"url": "/a"}, {"url": "/b"}]),
        document({}, servers=[{"url": "/{version}"}]),
        document({}, servers=[{"url": "https://[::1/v1"}]),
        document({}, servers=[{"url": "/a\n\x1b[2J"}, {"url": "/b"}]),
    ],
)
def test_other_documents_are_refused(broken: object) -> None:
    with pytest.raises(DocumentError) as refusal:
        operations_of(broken, ORDERS)
    assert str(refusal.value).isprintable()


@with_each("servers", [7, "/v1", {"url": "/v1"}, [7, None], [{}]])
def test_servers_that_are_none_give_no_path(servers: object) -> None:
    operations = operations_of(document({"/a": {"servers": servers, "get": {}}}, servers=servers), ORDERS)

    assert [operation.object for operation in operations.imported] == ["orders GET /a"]


def test_a_name_has_no_characters_that_move_the_cursor_or_turn_the_text() -> None:
    summary = "List\x1b[2J \u202eorders\x9b\u2066"
    operations = operations_of(document({"/a": {"get": {"summary": summary}}}), ORDERS)

    assert [operation.name for operation in operations.imported] == ["List [2J orders"]


def test_an_operation_with_servers_of_its_own_is_listed() -> None:
    paths = {
        "/a": {"get": {"servers": [{"url": "/other"}]}},
        "/b": {"get": {"servers": [{"url": "/v1"}]}},
        "/c": {"get": {"servers": [{"url": "https://[::1/v1"}]}},
    }
    operations = operations_of(document(paths, servers=[{"url": "/v1"}]), ORDERS)

    assert [operation.object for operation in operations.imported] == ["orders GET /v1/b"]
    assert [entry.operation for entry in operations.unusable] == ["GET /a", "GET /c"]


def test_a_router_that_ignores_case_gets_one_resource_for_two_spellings() -> None:
    operations = operations_of(
        document({"/Orders/": {"get": {}}, "/orders": {"get": {}}}),
        Service("orders", ignore_case=True, ignore_trailing_slash=True),
    )

    assert [operation.object for operation in operations.imported] == ["orders GET /Orders/"]
    assert len(operations.unusable) == 1
