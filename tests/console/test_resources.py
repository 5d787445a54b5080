"""The views of resources, as an administrator uses them."""

import json
from typing import Any

import pytest
from playwright.sync_api import expect

from service.features.tables.resource_import import operations_of
from service.kernel.services import Service
from tests.console.house import House
from tests.console.test_every_view import UNSAFE
from tests.console.test_policy import narrow
from tests.console.test_users import act, button, headed
from tests.console.visits import Visit

DOCUMENT = {
    "openapi": "3.1.0",
    "servers": [{"url": "https://orders.example/v1/"}],
    "paths": {
        "/orders": {"get": {"summary": "List orders"}, "post": {"operationId": "createOrder"}},
        "/orders/{order-id}": {"get": {}, "head": {}},
        "/files/{name}.json": {"get": {"summary": UNSAFE}},
        "/known": {"get": {"summary": "Known"}},
    },
}


@pytest.mark.extended
def test_requests_are_registered_from_the_coverage(visit: Visit, house: House) -> None:
    page = visit.page
    visit.sign_in(address="/resources")
    expect(page.get_by_role("heading", name="Required by endpoints")).to_be_visible()
    visit.picture("resources")
    page.get_by_role("link", name="Not registered").click()
    headed(page, "Coverage")
    page.get_by_role("searchbox", name="Endpoint").fill("/api/file/{id}/public-link")
    for method in ("POST", "DELETE"):
        page.get_by_role("checkbox", name=f"{method} /api/file/{{id}}/public-link").check()
    visit.axe()
    button(page, "Register 2").click()
    headed(page, "Register resources")
    page.get_by_role("textbox", name="Code").first.fill("not a code")
    button(page, "Check 2 resources").click()
    expect(page.get_by_text("1 resource can't be registered.")).to_be_visible()
    page.get_by_role("textbox", name="Code").first.fill("share.make")
    page.get_by_role("textbox", name="Name").first.fill(UNSAFE)
    button(page, "Check 1 resource").click()
    visit.axe()
    button(page, "Register 2 resources").click()
    expect(page.get_by_text("2 resources were registered.")).to_be_visible()
    resources = house.api.get("/api/resource/list", params={"path": "public-link"}).json()["data"]["items"]
    assert {resource["method"] for resource in resources} == {"POST", "DELETE"}
    assert UNSAFE in {resource["resourceName"] for resource in resources}
    for resource in resources:
        house.api.delete(f"/api/resource/{resource['id']}")


@pytest.mark.extended
def test_operations_of_a_document_are_registered_disabled(visit: Visit, house: House) -> None:
    assert house.api.post("/api/service", json={"name": "orders"}).status_code == 201
    known = {"resourceName": "Known", "resourceCode": "known", "method": "GET", "path": "/v1/known"}
    assert house.api.post("/api/resource", json=known | {"service": "orders"}).status_code == 201
    page = visit.page
    visit.sign_in(address="/resources/import")
    page.get_by_label("Service").select_option("orders")
    file = page.get_by_label("An OpenAPI document")
    file.set_input_files({"name": "a.json", "mimeType": "application/json", "buffer": b"{}"})
    button(page, "Read the document").click()
    expect(page.get_by_role("alert")).to_contain_text("This is not an OpenAPI document")
    content = json.dumps(DOCUMENT).encode()
    file.set_input_files({"name": "a.json", "mimeType": "application/json", "buffer": content})
    button(page, "Read the document").click()
    expect(
        page.get_by_text("3 new operations, 1 already registered, 2 that cannot be registered.")
    ).to_be_visible()
    expect(page.get_by_text("HEAD requests are decided as GET.")).to_be_visible()
    button(page, "Check 3 resources").click()
    button(page, "Register 3 resources").click()
    expect(page.get_by_text("3 resources were registered.")).to_be_visible()
    visit.axe()
    visit.picture("resource-import")
    narrow(page)
    listed = house.api.get("/api/resource/list", params={"service": "orders", "enabled": "false"}).json()[
        "data"
    ]
    assert sorted(resource["path"] for resource in listed["items"]) == [
        "/v1/orders",
        "/v1/orders",
        "/v1/orders/{order_id}",
    ]
    assert "List orders" in {resource["resourceName"] for resource in listed["items"]}


@pytest.mark.extended
def test_a_resource_is_edited_beside_others_disabled_and_deleted(visit: Visit, house: House) -> None:
    made = {"resourceName": "Coots", "resourceCode": "coots", "method": "GET", "path": "/api/coots"}
    number = house.api.post("/api/resource", json=made).json()["data"]["id"]
    page = visit.page
    visit.sign_in(address=f"/resources/{number}/edit")
    headed(page, "Edit the resource Coots")
    page.get_by_label("Description").fill(UNSAFE)
    house.api.patch(f"/api/resource/{number}", json={"resourceName": "Coots and moorhens"})
    button(page, "Save").click()
    expect(page.get_by_role("heading", name="Changed")).to_be_visible()
    expect(page.get_by_label("Name")).to_have_value("Coots and moorhens")
    visit.axe()
    button(page, "Save").click()
    headed(page, "Coots and moorhens")
    expect(page.get_by_text(UNSAFE)).to_be_visible()
    act(page, "Disable")
    button(page.get_by_role("dialog"), "Disable").click()
    expect(page.locator(".titled .badge", has_text="Disabled")).to_be_visible()
    button(page, "Undo").click()
    expect(page.locator(".titled .badge")).to_have_count(0)
    act(page, "Delete")
    button(page.get_by_role("dialog"), "Delete this resource").click()
    headed(page, "Resources")
    page.get_by_role("searchbox", name="Path").fill("/api/coots")
    expect(page.get_by_text("Nothing matches these filters.")).to_be_visible()
    narrow(page)
    visit.axe()


READ = """async (documents) => {
  const address = document.querySelector("script").src.replace("main.js", "parts/openapi.js");
  const { operationsOf } = await import(address);
  return documents.map((each) => {
    const { operations, unusable } = operationsOf(each, "orders", null);
    return [operations.map((one) => [one.method, one.path, one.resourceName, one.resourceCode]),
      unusable.map(({ operation }) => operation)];
  });
}"""


def test_documents_are_read_as_by_the_command(visit: Visit) -> None:
    item = {"get": {}, "post": {"summary": " Make\tone \n"}, "options": {}, "trace": {}, "x-own": {}}
    documents: list[dict[str, Any]] = [
        DOCUMENT,
        {"swagger": "2.0", "basePath": "/base/", "paths": {"/a/{b}/": item, "/a/{c}/": item, "/": item}},
        {
            "openapi": "3.0.0",
            "paths": {"/a b": item, "/ä": item, "/x{y}": item, "/{1-a}": item, "/a//b": item},
        },
        {
            "openapi": "3.0.0",
            "servers": [{"url": "/v2"}],
            "paths": {"/s": item | {"servers": [{"url": "/v3"}]}},
        },
        {"openapi": "3.0.0", "paths": {f"/{'long' * 40}": item, "/..": item, "/a/~b.c_d": item}},
    ]
    visit.go()
    expect(visit.page.get_by_role("button", name="Sign in")).to_be_visible()
    read = visit.page.evaluate(READ, documents)
    for document, (operations, unusable) in zip(documents, read, strict=True):
        expected = operations_of(document, Service("orders"))
        assert operations == [
            [operation.method, operation.path, operation.name, operation.code]
            for operation in expected.imported
        ]
        assert unusable == [entry.operation for entry in expected.unusable]
