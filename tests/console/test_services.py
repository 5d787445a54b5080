"""The views of other services and public access to them, as an administrator uses them."""

import pytest
from playwright.sync_api import expect

from tests.console.house import House
from tests.console.test_assignments import typed
from tests.console.test_every_view import UNSAFE
from tests.console.test_users import act, button, headed
from tests.console.visits import Visit


@pytest.mark.extended
def test_a_service_is_registered_edited_beside_others_and_deleted(visit: Visit, house: House) -> None:
    page = visit.page
    visit.sign_in(address="/services/new")
    page.get_by_label("Name").fill("Not a name")
    button(page, "Create").click()
    expect(page.get_by_label("Name")).to_have_attribute("aria-invalid", "true")
    page.get_by_label("Name").fill("teals")
    page.get_by_label("Description").fill(UNSAFE)
    button(page, "Create").click()
    headed(page, "teals")
    expect(page.get_by_text(UNSAFE)).to_be_visible()
    number = page.url.rsplit("/", 1)[1]

    page.get_by_role("link", name="Edit").click()
    headed(page, "Edit the service teals")
    page.get_by_label("Ignores case").check()
    theirs = {"description": "Theirs"}
    assert house.api.patch(f"/api/service/{number}", json=theirs).status_code == 200
    button(page, "Save").click()
    expect(page.get_by_role("heading", name="Changed")).to_be_visible()
    expect(page.get_by_label("Description")).to_have_value("Theirs")
    visit.axe()
    button(page, "Save").click()
    button(page.get_by_role("dialog"), "Save").click()
    headed(page, "teals")
    stored = house.api.get(f"/api/service/{number}").json()["data"]
    assert (stored["description"], stored["ignoreCase"]) == ("Theirs", True)

    made = {"resourceName": "Teals", "resourceCode": "teals", "method": "GET", "path": "/teals"}
    resource = house.api.post("/api/resource", json=made | {"service": "teals"}).json()["data"]["id"]
    act(page, "Delete")
    expect(page.get_by_role("alert")).to_contain_text("teals still has resources")
    page.keyboard.press("Escape")
    page.get_by_role("link", name="Its resources").click()
    headed(page, "Resources")
    expect(page.get_by_role("table")).to_contain_text("GET /teals")
    assert house.api.delete(f"/api/resource/{resource}").status_code == 200
    visit.go(f"/services/{number}")
    headed(page, "teals")
    act(page, "Delete")
    button(page.get_by_role("dialog"), "Delete this service").click()
    headed(page, "Services")
    visit.axe()
    assert house.api.get(f"/api/service/{number}").status_code == 404


def test_a_service_is_opened_and_closed_again(visit: Visit, house: House) -> None:
    number = house.api.post("/api/service", json={"name": "orders-eu"}).json()["data"]["id"]
    made = {"resourceName": "An order", "resourceCode": "order", "method": "GET", "path": "/orders/{id}"}
    resource = house.api.post("/api/resource", json=made | {"service": "orders-eu"}).json()["data"]["id"]
    page = visit.page
    visit.sign_in(address=f"/services/{number}")
    expect(page.get_by_text("There is no public access")).to_be_visible()
    button(page, "Open").click()
    page.get_by_label("Endpoint").fill("GET /ducks")
    button(page, "Preview").click()
    expect(page.get_by_text("This does not match a resource of orders-eu")).to_be_visible()
    page.get_by_label("Endpoint").fill("get /orders/")
    page.get_by_role("option", name="GET /orders/{id}").click()
    expect(page.get_by_label("Endpoint")).to_have_value("GET /orders/{id}")
    page.get_by_role("dialog").get_by_label("Open to").select_option("Everyone")
    button(page, "Preview").click()
    preview = page.get_by_role("dialog", name="Open GET /orders/{id}?")
    expect(preview).to_contain_text("Gain access")
    visit.axe()
    button(preview, "Open").click()
    row = page.get_by_role("row").filter(has_text="GET /orders/{id}")
    expect(row).to_contain_text("Everyone")

    button(page, "Open").click()
    button(page, "Preview").click()
    button(page.get_by_role("dialog", name="Open unregistered endpoints?"), "Open").click()
    expect(page.get_by_role("row").filter(has_text="unregistered endpoints")).to_be_visible()
    visit.axe()
    visit.picture("service")
    listed = house.api.get("/api/opening/list", params={"service": "orders-eu", "sort": "id"}).json()["data"]
    opened = [(opening["resourceId"], opening["code"]) for opening in listed["items"]]
    assert opened == [(resource, "@anyone"), (None, "@login")]

    button(row, "Close: GET /orders/{id}").click()
    button(page.get_by_role("dialog"), "Close it").click()
    expect(row).to_have_count(0)
    button(page.locator(".message", has_text="has ended"), "Undo").click()
    expect(row).to_be_visible()
    house.api.delete(f"/api/resource/{resource}")
    house.api.delete(f"/api/service/{number}")


@pytest.mark.extended
def test_what_is_opened_with_an_end_shows_it_and_comes_back_with_it(visit: Visit, house: House) -> None:
    number = house.api.post("/api/service", json={"name": "orders-us"}).json()["data"]["id"]
    page, dialogs = visit.page, visit.page.get_by_role("dialog")
    visit.sign_in(address=f"/services/{number}")
    button(page, "Open").click()
    dialogs.get_by_label("Until").fill(typed(days=-1))
    button(dialogs, "Preview").click()
    expect(dialogs.get_by_label("Until")).to_have_attribute("aria-invalid", "true")
    visit.axe()
    dialogs.get_by_label("Until").fill(typed(days=3, minutes=1))
    button(dialogs, "Preview").click()
    button(page.get_by_role("dialog", name="Open unregistered endpoints?"), "Open").click()
    row = page.get_by_role("row").filter(has_text="unregistered endpoints")
    expect(row).to_contain_text("(in 3 days)")
    visit.axe()

    def ends() -> list[str | None]:
        listed = house.api.get("/api/opening/list", params={"service": "orders-us"}).json()["data"]
        return [opening["until"] for opening in listed["items"]]

    [end] = ends()
    assert end is not None
    button(row, "Close: unregistered endpoints").click()
    button(dialogs, "Close it").click()
    expect(row).to_have_count(0)
    assert ends() == []
    button(page.locator(".message", has_text="has ended"), "Undo").click()
    expect(row).to_contain_text("(in 3 days)")
    assert ends() == [end]
    house.api.delete(f"/api/service/{number}")
