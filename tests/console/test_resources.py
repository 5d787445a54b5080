"""The views of resources, as an administrator uses them."""

import json

import pytest
from playwright.sync_api import expect

from tests.console.acts import UNSAFE, act, button, follow, headed
from tests.console.house import House
from tests.console.test_units import DOCUMENTS
from tests.console.visits import Visit


@pytest.mark.extended
def test_requests_are_registered_from_the_coverage(visit: Visit, house: House) -> None:
    page = visit.open("/resources")
    expect(page.get_by_role("heading", name="Required by endpoints")).to_be_visible()
    visit.picture("resources")
    page.get_by_role("link", name="Not registered").click()
    headed(page, "Coverage")
    page.get_by_role("searchbox", name="Endpoint").fill("/api/file/{id}/public-link")
    for method in ("POST", "DELETE"):
        page.get_by_role("checkbox", name=f"{method} /api/file/{{id}}/public-link").check()
    follow(page, "Register 2", "Register resources")
    page.get_by_role("textbox", name="Code").first.fill("not a code")
    button(page, "Check 2 resources").click()
    expect(page.get_by_text("1 resource can't be registered.")).to_be_visible()
    page.get_by_role("textbox", name="Code").first.fill("share.make")
    page.get_by_role("textbox", name="Name").first.fill(UNSAFE)
    button(page, "Check 1 resource").click()
    visit.axe()
    button(page, "Register 2 resources").click()
    expect(page.get_by_text("2 resources were registered.")).to_be_visible()
    resources = house.send("GET", "/api/resource/list", path="public-link")["items"]
    assert {resource["method"] for resource in resources} == {"POST", "DELETE"}
    assert UNSAFE in {resource["resourceName"] for resource in resources}
    for resource in resources:
        house.send("DELETE", f"/api/resource/{resource['id']}")


@pytest.mark.extended
def test_operations_of_a_document_are_registered_disabled(visit: Visit, house: House) -> None:
    house.send("POST", "/api/service", {"name": "orders"})
    known = {"resourceName": "Known", "resourceCode": "known", "method": "GET", "path": "/v1/known"}
    house.send("POST", "/api/resource", known | {"service": "orders"})
    page = visit.open("/resources/import")
    page.get_by_label("Service").select_option("orders")
    file = page.get_by_label("An OpenAPI document")
    file.set_input_files({"name": "a.json", "mimeType": "application/json", "buffer": b"{}"})
    button(page, "Read the document").click()
    expect(page.get_by_role("alert")).to_contain_text("This is not an OpenAPI document")
    content = json.dumps(DOCUMENTS[0]).encode()
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
    listed = house.send("GET", "/api/resource/list", service="orders", enabled="false")
    assert sorted(resource["path"] for resource in listed["items"]) == [
        "/v1/orders",
        "/v1/orders",
        "/v1/orders/{order_id}",
    ]
    assert "List orders" in {resource["resourceName"] for resource in listed["items"]}


@pytest.mark.extended
def test_a_resource_is_edited_beside_others_disabled_and_deleted(visit: Visit, house: House) -> None:
    number = house.resource("GET /api/coots", "Coots")
    page = visit.open(f"/resources/{number}/edit", "Edit the resource Coots")
    page.get_by_label("Description").fill(UNSAFE)
    house.send("PATCH", f"/api/resource/{number}", {"resourceName": "Coots and moorhens"})
    button(page, "Save").click()
    expect(page.get_by_role("heading", name="Changed")).to_be_visible()
    expect(page.get_by_label("Name")).to_have_value("Coots and moorhens")
    follow(page, "Save", "Coots and moorhens")
    expect(page.get_by_text(UNSAFE)).to_be_visible()
    act(page, "Disable", "Disable")
    expect(page.locator(".titled .badge", has_text="Disabled")).to_be_visible()
    button(page, "Undo").click()
    expect(page.locator(".titled .badge")).to_have_count(0)
    act(page, "Delete")
    follow(page.get_by_role("dialog"), "Delete this resource", "Resources")
    page.get_by_role("searchbox", name="Path").fill("/api/coots")
    expect(page.get_by_text("Nothing matches these filters.")).to_be_visible()
