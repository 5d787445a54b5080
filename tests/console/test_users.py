"""The views of users, as an administrator uses them."""

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from itertools import cycle
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tests.console.house import House
from tests.console.visits import Visit, settled

NAMES = """
Avocet Bittern Crane Dotterel Egret Fulmar Godwit Heron Ibis Jacana Kittiwake Lapwing Merganser Noddy Osprey
Pratincole Quail Redshank Sanderling Turnstone Umbrellabird Whimbrel
"""
BIRDS = NAMES.split()


def button(place: Page | Locator, name: str) -> Locator:
    return place.get_by_role("button", name=name, exact=True)


def headed(page: Page, title: str | re.Pattern[str]) -> None:
    """Wait until the view with that title is shown, and all of it."""
    expect(page.get_by_role("heading", level=1)).to_have_text(title)
    settled(page)


def act(page: Page, name: str) -> None:
    """Do what is behind the button for further acts on a record."""
    page.locator("summary", has_text="More actions").click()
    button(page.locator(".acts"), name).click()


def stored(house: House, name: str) -> dict[str, Any]:
    users = house.api.get("/api/user/list", params={"userName": name}).json()["data"]["items"]
    assert len(users) == 1
    user: dict[str, Any] = users[0]
    return user


@pytest.mark.extended
def test_a_preview_that_takes_long_says_so_until_it_is_there(visit: Visit, house: House) -> None:
    page = visit.page
    visit.sign_in(address=f"/users/{house.member('phalarope')}")
    headed(page, "phalarope")
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route("**/status?dryRun=true", hold)
    act(page, "Disable")
    working = page.get_by_role("progressbar", name="Calculating the effects")
    expect(working).to_be_visible()
    expect(page.get_by_role("dialog")).to_have_count(0)
    held[0].continue_()
    expect(page.get_by_role("dialog")).to_be_visible()
    expect(working).to_have_count(0)


@pytest.mark.extended
def test_an_account_is_made_kept_out_let_in_again_and_deleted(visit: Visit, house: House) -> None:
    page = visit.page
    visit.sign_in(address="/users")
    page.get_by_role("link", name="New user").click()
    headed(page, "New user")
    page.get_by_label("User name").fill("bluethroat")
    page.get_by_role("textbox", name="Name", exact=True).fill("Bluethroat")
    page.get_by_role("radio", name="Set a password now").check()
    page.locator("input[type=password]").fill("1234")
    page.get_by_role("checkbox", name="Auditor").check()
    button(page, "Create").click()
    expect(page.get_by_role("alert")).to_contain_text(
        "was not saved: Password: must have 8 to 128 characters"
    )
    expect(page.locator("input[type=password]")).to_be_focused()
    page.locator("input[type=password]").fill("four wary herons")
    button(page, "Create").click()
    headed(page, "bluethroat")
    assert [role["roleCode"] for role in stored(house, "bluethroat")["roles"]] == ["auditor"]

    act(page, "Disable")
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("heading", name="Lose access")).to_be_visible()
    expect(dialog).to_contain_text("auditor 1 user")
    button(dialog, "Disable").click()
    expect(page.locator(".badge", has_text="Disabled")).to_be_visible()
    assert stored(house, "bluethroat")["status"] == "disabled"
    button(page, "Undo").click()
    expect(page.locator(".badge", has_text="Disabled")).to_have_count(0)

    act(page, "Ban")
    page.get_by_label("Reason").fill("Password shared")
    button(page, "Ban this user").click()
    expect(page.locator("dd", has_text="Banned by admin")).to_contain_text("Password shared")
    ban = stored(house, "bluethroat")["ban"]
    assert ban["reason"] == "Password shared"
    lasts = datetime.fromisoformat(ban["until"]) - datetime.fromisoformat(ban["createTime"])
    assert round(lasts / timedelta(hours=1)) == 24  # unless the reader says otherwise
    visit.axe()
    visit.picture("user")
    act(page, "Lift the ban")
    expect(page.get_by_text("The ban of user bluethroat was lifted.")).to_be_visible()
    assert stored(house, "bluethroat")["ban"] is None

    act(page, "Delete")
    expect(page.get_by_role("dialog")).to_contain_text("The account bluethroat and its roles are deleted")
    button(page, "Delete this user").click()
    headed(page, "Users")
    assert house.api.get("/api/user/list?userName=bluethroat").json()["data"]["total"] == 0


@pytest.mark.extended
def test_a_preview_names_users_for_whom_it_has_no_effect_yet(visit: Visit, house: House) -> None:
    number = house.member("garganey")
    assert house.api.put(f"/api/user/{number}/status", json={"status": "disabled"}).status_code == 200
    page = visit.page
    visit.sign_in(address=f"/users/{number}/edit")
    headed(page, "Edit garganey")
    page.get_by_role("checkbox", name="Auditor").check()
    button(page, "Save").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Nobody gains or loses access to anything.")
    expect(dialog).to_contain_text("1 user who is disabled or banned: garganey.")
    visit.axe()
    button(dialog, "Cancel").click()


@pytest.mark.extended
def test_a_list_of_users_is_filtered_and_its_address_leads_back_to_it(visit: Visit, house: House) -> None:
    table = [
        {
            "userName": name.lower(),
            "nickName": name,
            "email": f"{name.lower()}@birds.example",
            "roles": [role],
        }
        for name, role in zip(BIRDS, cycle(["auditor", "user", "user"]), strict=False)
    ]
    assert house.api.post("/api/user/import", json={"users": table}).status_code == 200
    page = visit.page
    visit.sign_in(address="/users?email=birds.example&sort=-userName")
    rows = page.get_by_role("table").get_by_role("row")
    expect(rows).to_have_count(21)
    expect(rows.nth(1)).to_contain_text(BIRDS[-1])
    expect(page.get_by_text(f"of {len(BIRDS)}").first).to_be_visible()
    visit.axe()
    visit.picture("users")
    button(page, "Next").click()
    expect(rows).to_have_count(1 + len(BIRDS) - 20)
    rows.last.get_by_role("link").click()
    headed(page, BIRDS[0].lower())
    page.go_back()
    expect(rows).to_have_count(1 + len(BIRDS) - 20)
    page.get_by_role("combobox", name="State").select_option("enabled")
    expect(page.get_by_text("Nothing matches these filters.")).to_be_visible()
    assert "status=enabled" in page.url
    button(page, "Clear the filters").click()
    expect(rows).to_have_count(21)
    page.set_viewport_size({"width": 320, "height": 700})
    assert page.evaluate("document.documentElement.scrollWidth") == 320


@pytest.mark.extended
def test_an_edit_that_meets_the_edit_of_another_is_merged(visit: Visit, house: House) -> None:
    user_id = house.member("knot")
    page = visit.page
    visit.sign_in(address=f"/users/{user_id}/edit")
    name = page.get_by_role("textbox", name="Name", exact=True)
    expect(name).to_have_value("knot")
    role = house.api.post("/api/role", json={"roleName": "Ringers", "roleCode": "ringers"}).json()["data"]
    theirs = {
        "nickName": "Theirs",
        "phone": "+49 30 1234567",
        "roleIds": [role["id"], *(given["id"] for given in stored(house, "knot")["roles"])],
    }
    assert house.api.patch(f"/api/user/{user_id}", json=theirs).status_code == 200

    name.fill("Mine")
    page.get_by_label("Email").fill("knot@example.org")
    button(page, "Save").click()
    expect(page.get_by_role("alert")).to_contain_text("Changed by admin in the meantime")
    expect(page.get_by_role("alert")).to_contain_text("Ringers")
    expect(page.get_by_label("Phone")).to_have_value("+49 30 1234567")
    visit.axe()
    visit.picture("merge")
    page.get_by_label(re.compile("Theirs")).check()
    expect(name).to_have_value("Theirs")
    button(page, "Save").click()
    headed(page, "knot")
    saved = stored(house, "knot")
    assert (saved["nickName"], saved["email"]) == ("Theirs", "knot@example.org")
    assert saved["phone"] == "+49 30 1234567"
    assert {"ringers", "knot"} == {given["roleCode"] for given in saved["roles"]}


@pytest.mark.extended
def test_many_users_are_chosen_and_changed_after_a_preview_of_all(visit: Visit, house: House) -> None:
    for name in ("goosander", "scaup"):
        house.member(name)
    page = visit.page
    visit.sign_in(address="/users?keyword=s&sort=-createTime")
    headed(page, "Users")
    bar = page.get_by_role("group", name="Selected users")
    expect(bar).to_be_hidden()
    for name in ("goosander", "scaup"):
        page.get_by_role("row", name=name).get_by_role("checkbox").check()
    expect(bar).to_contain_text("2 selected")
    visit.axe()
    button(bar, "Disable").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Disable 2 users?")
    expect(dialog).to_contain_text("2 users change, 0 already in this state.")
    button(dialog, "Disable").click()
    expect(page.get_by_text("2 users were disabled.")).to_be_visible()
    assert {stored(house, name)["status"] for name in ("goosander", "scaup")} == {"disabled"}

    page.get_by_role("row", name="goosander").get_by_role("checkbox").check()
    button(bar, "Give role").click()
    dialog.get_by_label("Role").select_option("Auditor")
    button(dialog, "Preview").click()
    expect(dialog).to_contain_text("1 user change")
    button(dialog, "Give role").click()
    expect(page.get_by_text("1 user got the role Auditor.")).to_be_visible()
    assert "auditor" in [role["roleCode"] for role in stored(house, "goosander")["roles"]]


@pytest.mark.extended
def test_many_users_are_enabled_lose_a_role_and_their_sessions(visit: Visit, house: House) -> None:
    auditor = next(
        role["id"]
        for role in house.api.get("/api/role/list").json()["data"]["items"]
        if role["roleCode"] == "auditor"
    )
    names = ("pintail-one", "pintail-two")
    for name in names:
        user = house.member(name)
        assert house.api.patch(f"/api/user/{user}", json={"roleIds": [auditor]}).status_code == 200
    house.log_in("pintail-one")
    page = visit.page
    visit.sign_in(address="/users?keyword=pintail-")
    headed(page, "Users")
    bar = page.get_by_role("group", name="Selected users")
    dialog = page.get_by_role("dialog")

    def choose() -> None:
        expect(bar).to_be_hidden()  # that of the list before is gone
        for name in names:
            page.get_by_role("row", name=name).get_by_role("checkbox").check()

    choose()
    button(bar, "End sessions").click()
    expect(dialog).to_contain_text("1 user changes, 1 already in this state.")
    visit.axe()
    button(dialog, "End sessions").click()
    expect(page.get_by_text("All sessions of 1 user ended.")).to_be_visible()
    sessions = house.api.get("/api/online/list", params={"userName": "pintail-one"}).json()["data"]
    assert sessions["items"] == []

    choose()
    button(bar, "Remove role").click()
    dialog.get_by_label("Role").select_option("Auditor")
    button(dialog, "Preview").click()
    expect(dialog.get_by_role("heading", name="Lose access")).to_be_visible()
    button(dialog, "Remove role").click()
    expect(page.get_by_text("2 users no longer have the role Auditor.")).to_be_visible()
    assert all(stored(house, name)["roles"] == [] for name in names)

    user = stored(house, "pintail-two")["id"]
    disabled = house.api.put(f"/api/user/{user}/status", json={"status": "disabled"})
    assert disabled.status_code == 200, disabled.text
    choose()
    button(bar, "Enable").click()
    expect(dialog).to_contain_text("1 user changes, 1 already in this state.")
    button(dialog, "Enable").click()
    expect(page.get_by_text("1 user was enabled.")).to_be_visible()
    assert stored(house, "pintail-two")["status"] == "enabled"


@pytest.mark.extended
def test_a_refusal_to_change_many_users_names_those_whom_it_is_about(visit: Visit, house: House) -> None:
    house.member("clerk-of-many", "system:user:list", "system:user:update")
    house.member("shoveler")
    house.member("serin", "system:role:list")
    page = visit.page
    visit.sign_in("clerk-of-many", "/users?keyword=s&sort=-createTime")
    headed(page, "Users")
    for name in ("shoveler", "serin"):
        page.get_by_role("row", name=name).get_by_role("checkbox").check()
    button(page.get_by_role("group", name="Selected users"), "Disable").click()
    fault = page.get_by_role("dialog").get_by_role("listitem")
    expect(fault).to_have_text(re.compile("^serin The user holds permissions that you do not hold"))
    expect(page.get_by_role("row", name="clerk-of-many").get_by_role("checkbox")).to_have_count(0)
    assert stored(house, "shoveler")["status"] == "enabled"


@pytest.mark.extended
def test_a_session_of_a_user_is_shown_and_ended(visitor: Callable[[], Visit], house: House) -> None:
    user_id = house.member("plover", "system:role:list")
    theirs, mine = visitor(), visitor()
    theirs.sign_in("plover", "/roles")
    page = mine.page
    mine.sign_in(address=f"/users/{user_id}/sessions")
    page.get_by_role("button", name=re.compile("^End the session on console-")).click()
    button(page.get_by_role("dialog"), "End").click()
    expect(page.get_by_text("This user is not signed in.")).to_be_visible()
    theirs.page.get_by_role("link", name="User", exact=True).click()
    expect(theirs.page.get_by_role("heading", name="Sign in again")).to_be_visible()
