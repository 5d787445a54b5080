"""The views of other services and public access to them, as an administrator uses them."""

import pytest
from playwright.sync_api import expect

from tests.console.acts import UNSAFE, act, button, follow, row, says, typed
from tests.console.house import House
from tests.console.visits import Visit


@pytest.mark.extended
def test_a_service_is_registered_edited_beside_others_and_deleted(visit: Visit, house: House) -> None:
    page = visit.open("/services/new")
    page.get_by_label("Name").fill("Not a name")
    button(page, "Create").click()
    expect(page.get_by_label("Name")).to_have_attribute("aria-invalid", "true")
    page.get_by_label("Name").fill("teals")
    page.get_by_label("Description").fill(UNSAFE)
    follow(page, "Create", "teals")
    expect(page.get_by_text(UNSAFE)).to_be_visible()
    number = page.url.rsplit("/", 1)[1]

    follow(page, "Edit", "Edit the service teals")
    page.get_by_label("Ignores case").check()
    theirs = {"description": "Theirs"}
    house.send("PATCH", f"/api/service/{number}", theirs)
    button(page, "Save").click()
    expect(page.get_by_role("heading", name="Changed")).to_be_visible()
    expect(page.get_by_label("Description")).to_have_value("Theirs")
    button(page, "Save").click()
    follow(page.get_by_role("dialog"), "Save", "teals")
    stored = house.send("GET", f"/api/service/{number}")
    assert (stored["description"], stored["ignoreCase"]) == ("Theirs", True)

    resource = house.resource("GET /teals", "Teals", service="teals")
    act(page, "Delete")
    expect(page.get_by_role("alert")).to_contain_text("teals still has resources")
    page.keyboard.press("Escape")
    follow(page, "Its resources", "Resources")
    expect(page.get_by_role("table")).to_contain_text("GET /teals")
    house.send("DELETE", f"/api/resource/{resource}")
    visit.show(f"/services/{number}", "teals")
    act(page, "Delete")
    follow(page.get_by_role("dialog"), "Delete this service", "Services")
    assert house.api.get(f"/api/service/{number}").status_code == 404


def test_a_service_is_opened_and_closed_again(visit: Visit, house: House) -> None:
    number = house.make("service", name="orders-eu")
    resource = house.resource("GET /orders/{id}", "An order", service="orders-eu")
    page = visit.open(f"/services/{number}")
    expect(page.get_by_text("There is no public access")).to_be_visible()
    button(page, "Open").click()
    page.get_by_label("Endpoint", exact=True).fill("GET /ducks")
    button(page, "Preview").click()
    expect(page.get_by_text("This does not match a resource of orders-eu")).to_be_visible()
    page.get_by_label("Endpoint", exact=True).fill("get /orders/")
    page.get_by_role("option", name="GET /orders/{id}").click()
    expect(page.get_by_label("Endpoint", exact=True)).to_have_value("GET /orders/{id}")
    page.get_by_role("dialog").get_by_label("Open to").select_option("Everyone")
    until = page.get_by_role("dialog").get_by_label("Until")
    until.fill(typed(days=-1))
    button(page, "Preview").click()
    expect(until).to_have_attribute("aria-invalid", "true")
    until.fill(typed(days=3, minutes=1))
    button(page, "Preview").click()
    preview = page.get_by_role("dialog", name="Open GET /orders/{id}?")
    expect(preview).to_contain_text("Gain access")
    visit.axe()
    button(preview, "Open").click()
    shown = row(page, "GET /orders/{id}")
    says(shown, "Everyone", "(in 3 days)")

    button(page, "Open").click()
    button(page, "Preview").click()
    button(page.get_by_role("dialog", name="Open unregistered endpoints?"), "Open").click()
    expect(row(page, "unregistered endpoints")).to_be_visible()
    visit.picture("service")
    listed = house.send("GET", "/api/opening/list", service="orders-eu", sort="id")
    opened = [(opening["resourceId"], opening["code"]) for opening in listed["items"]]
    assert opened == [(resource, "@anyone"), (None, "@login")]

    button(shown, "Close: GET /orders/{id}").click()
    button(page.get_by_role("dialog"), "Close it").click()
    expect(shown).to_have_count(0)
    button(page.locator(".message", has_text="has ended"), "Undo").click()
    says(shown, "(in 3 days)")
    house.send("DELETE", f"/api/resource/{resource}")
    house.send("DELETE", f"/api/service/{number}")
