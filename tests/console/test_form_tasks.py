"""Tasks of forms, each with few clicks and also by the keyboard alone."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.console.house import House
from tests.console.test_home import ALL_LEFT, answer_with
from tests.console.visits import Visit
from tests.console.walks import Walk
from tests.support.seeded import ADMINISTRATOR_PASSWORD

KEYBOARD = pytest.param(True, marks=pytest.mark.extended)
TABLE = """userName,nickName,status,gender,kind
{0}-one,One,disabled,female,person
{0}-two,Two,disabled,femal,person
{0}-three,Three,disabeld,,person
{0}-four,Four,disabled,,persn
"""


@pytest.mark.parametrize("keys", [False, KEYBOARD], ids=["mouse", "keyboard"])
@pytest.mark.feature("tables")
@pytest.mark.feature("policy_history")
def test_tasks_of_forms_take_few_clicks(visit: Visit, house: House, tmp_path: Path, keys: bool) -> None:
    name = "aardvark" if keys else "aardwolf"  # the first of all services
    house.api.post("/api/service", json={"name": name}).raise_for_status()
    button = {"menuType": "Button", "title": f"Read {name}", "authMark": f"{name}:read"}
    house.api.post("/api/menu", json=button).raise_for_status()
    answer_with(visit, "**/api/system/first-steps", dict.fromkeys(ALL_LEFT, True))  # nothing is folded
    visit.sign_in()
    walk = Walk(visit.page, keys=keys)
    _endpoint_with_button(walk, name)
    _service_account_with_key(walk, name)
    _import_with_bad_rows(walk, house, name, tmp_path / "users.csv")
    _restore(walk, house, name)


def _endpoint_with_button(walk: Walk, name: str) -> None:
    page = walk.page
    walk.to("Resources")
    walk.follow("New resource", "Register a resource")
    expect(page.get_by_label("Service", exact=True)).to_have_value("1")  # the first other service
    walk.type(page.get_by_label("Path", exact=True), f"/{name}/{{id}}")
    expect(page.get_by_label("Code", exact=True)).to_have_value(f"{name}.get.{name}.id")
    walk.type(page.get_by_role("searchbox", name="Search"), f"{name}:read")
    walk.check(page.get_by_role("checkbox", name=f"{name}:read"))
    walk.act(page.get_by_role("button", name="Preview"))
    walk.act(walk.dialog().get_by_role("button", name="Register"))
    expect(page.get_by_role("heading", level=1)).to_have_text(f"GET /{name}/{{id}}")
    expect(page.get_by_role("table")).to_contain_text(f"{name}:read")
    walk.took(6)


def test_an_endpoint_is_registered_with_a_new_button(visit: Visit) -> None:
    page = visit.page
    visit.sign_in()
    walk = Walk(page, keys=False)
    walk.to("Resources")
    walk.follow("New resource", "Register a resource")
    walk.type(page.get_by_label("Path", exact=True), "/pangolins")
    walk.type(page.get_by_role("searchbox", name="Search"), "zoo:pangolin:read")
    expect(page.get_by_text("No Button matches.")).to_be_visible()
    walk.act(page.get_by_role("button", name="New Button"))
    expect(walk.dialog().get_by_label("Permission")).to_have_value("zoo:pangolin:read")
    walk.type(walk.dialog().get_by_label("Title"), "Read pangolins")
    walk.act(walk.dialog().get_by_role("button", name="Create this Button"))
    expect(page.get_by_role("checkbox", name="zoo:pangolin:read")).to_be_checked()
    walk.act(page.get_by_role("button", name="Preview"))
    walk.act(walk.dialog().get_by_role("button", name="Register"))
    expect(page.get_by_role("heading", level=1)).to_have_text("GET /pangolins")
    expect(page.get_by_role("table")).to_contain_text("zoo:pangolin:read")
    walk.took(7)
    page.get_by_role("button", name="Give Read pangolins to a role").click()
    walk.dialog().get_by_label("Role").select_option(label="Auditor (auditor)")
    walk.dialog().get_by_role("button", name="Open the role").click()
    expect(page.locator(".difference")).to_contain_text("zoo:pangolin:read")
    page.get_by_role("button", name="Preview and save").click()
    walk.dialog().get_by_role("button", name="Save").click()
    expect(page.locator(".difference")).to_have_count(0)
    page.keyboard.press("Control+k")
    page.keyboard.type("pangolin:re")
    expect(page.get_by_role("group", name="Permissions")).to_contain_text("zoo:pangolin:read")


def _service_account_with_key(walk: Walk, name: str) -> None:
    page = walk.page
    walk.to("Service accounts")
    walk.follow("New service account", "New service account")
    walk.type(page.get_by_label("User name"), f"{name}-robot")
    walk.type(page.get_by_label("Name", exact=True), "Robot")
    walk.act(page.get_by_role("button", name="Create"))
    walk.act(page.get_by_role("button", name="Create a key"))
    walk.type(walk.dialog().get_by_label("Name"), "deploys")
    expect(walk.dialog().get_by_label("Expires after").locator("option:checked")).to_have_text("90 days")
    walk.act(walk.dialog().get_by_role("button", name="Create a key"))
    shown = walk.dialog("New key")
    expect(shown).to_be_visible()
    walk.act(shown.get_by_role("button", name="Close").last)
    expect(page.get_by_role("table")).to_contain_text("deploys")
    walk.took(6)


def _import_with_bad_rows(walk: Walk, house: House, name: str, file: Path) -> None:
    page = walk.page
    file.write_text(TABLE.format(name), encoding="utf-8")
    walk.to("Users")
    walk.follow("Import", "Import users")
    walk.choose(page.get_by_label("A file"), file)
    faults = page.get_by_role("table", name="Errors")
    rows = faults.locator("tbody tr")
    expect(rows).to_have_count(3)
    expect(faults).not_to_contain_text("null")
    for row, line, value, meant in ((0, "3", "femal", "female"), (1, "4", "disabeld", "disabled")):
        expect(rows.nth(row).locator("th")).to_have_text(line)
        expect(rows.nth(row).get_by_role("textbox")).to_have_value(value)
        expect(rows.nth(row)).to_contain_text(f"Did you mean {meant}?")
    with page.expect_download() as download:
        page.get_by_role("button", name="Download 3 rows to correct").press("Enter")
    assert Path(download.value.path()).read_text(encoding="utf-8").split() == [
        line.replace(" ", "") for place, line in enumerate(TABLE.format(name).split()) if place != 1
    ]
    walk.act(page.get_by_role("button", name="Use 3 suggestions and check again"))
    expect(page.get_by_role("main")).to_contain_text("4 new users have no password. Invite them by mail")
    walk.act(page.get_by_role("button", name="Save 4 rows"))
    expect(page.get_by_role("heading", level=1)).to_have_text("Users")
    expect(page.get_by_role("table")).to_contain_text("No password yet")  # the list shows those users alone
    assert page.url.endswith("/users?invited=true")
    assert house.user(f"{name}-four")["status"] == "disabled"
    walk.took(5)


def _restore(walk: Walk, house: House, name: str) -> None:
    page = walk.page
    before = house.api.get("/api/policy").json()["data"]["revision"]
    made = {"resourceName": name, "resourceCode": f"{name}.undo", "method": "GET", "path": f"/api/{name}"}
    house.api.post("/api/resource", json=made).raise_for_status()
    walk.to("Revisions")
    walk.act(page.get_by_role("button", name=f"Restore revision {before}", exact=True))
    asked = walk.dialog()
    expect(asked.locator(".note.bad")).to_contain_text(f"Resource GET /api/{name}")
    walk.act(asked.get_by_role("button", name="Restore it"))
    expect(page.get_by_role("heading", level=1)).to_have_text(f"Revision {before + 2}")
    left = house.api.get("/api/resource/list", params={"resourceCode": f"{name}.undo"})
    assert left.json()["data"]["items"] == []
    walk.took(3)


@pytest.mark.parametrize("keys", [False, KEYBOARD], ids=["mouse", "keyboard"])
@pytest.mark.feature("second_factors")
def test_a_second_factor_and_a_sign_in_take_few_clicks(visit: Visit, house: House, keys: bool) -> None:
    name = "armadillo-keys" if keys else "armadillo"
    house.member(name)
    visit.sign_in(name)
    page = visit.page
    walk = Walk(page, keys=keys)
    walk.act(page.get_by_label(f"Signed in as {name}"))
    walk.act(page.get_by_role("link", name="Your account").first)
    walk.act(page.get_by_role("button", name="Add an authenticator app"))
    secret = walk.dialog().locator("code").inner_text().replace(" ", "")
    walk.type(walk.dialog().get_by_label("Code"), house.code_of(secret))
    walk.act(walk.dialog().get_by_role("button", name="Confirm the code"))
    walk.act(walk.dialog().get_by_role("button", name="I have saved them"))
    walk.act(page.get_by_role("main").get_by_role("button", name="Sign out"))
    walk.type(page.get_by_label("User name"), name)
    walk.type(page.get_by_label("Password", exact=True), ADMINISTRATOR_PASSWORD)
    walk.act(page.get_by_role("button", name="Sign in", exact=True))
    walk.type(page.get_by_label("Code"), house.code_of(secret))
    walk.act(page.get_by_role("button", name="Sign in", exact=True))
    expect(page.get_by_label(f"Signed in as {name}")).to_be_visible()
    walk.took(8)
