"""The views of users, as an administrator uses them."""

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from itertools import cycle

import pytest
from playwright.sync_api import expect

from tests.console.acts import act, button, follow, headed, hold, says
from tests.console.house import House
from tests.console.visits import Visit

pytestmark = pytest.mark.extended

NAMES = """
Avocet Bittern Crane Dotterel Egret Fulmar Godwit Heron Ibis Jacana Kittiwake Lapwing Merganser Noddy Osprey
Pratincole Quail Redshank Sanderling Turnstone Umbrellabird Whimbrel
"""
BIRDS = NAMES.split()


def test_a_preview_that_takes_long_says_so_until_it_is_there(visit: Visit, house: House) -> None:
    page = visit.open(f"/users/{house.member('phalarope')}", "phalarope")
    held = hold(page, "**/status?dryRun=true")
    act(page, "Disable")
    working = page.get_by_role("progressbar", name="Calculating the effects")
    expect(working).to_be_visible()
    expect(page.get_by_role("dialog")).to_have_count(0)
    held[0].continue_()
    expect(page.get_by_role("dialog")).to_be_visible()
    expect(working).to_have_count(0)


def test_an_account_is_made_kept_out_let_in_again_and_deleted(visit: Visit, house: House) -> None:
    page = visit.open("/users", "Users")
    follow(page, "New user", "New user")
    page.get_by_label("User name").fill("bluethroat")
    page.get_by_role("textbox", name="Name", exact=True).fill("Bluethroat")
    page.get_by_role("radio", name="Set a password now").check()
    password = page.locator("input[type=password]")
    password.fill("1234")
    page.get_by_role("checkbox", name="Auditor").check()
    button(page, "Create").click()
    says(page.get_by_role("alert"), "was not saved: Password: must have 8 to 128 characters")
    expect(password).to_be_focused()
    password.fill("four wary herons")
    follow(page, "Create", "bluethroat")
    assert [role["roleCode"] for role in house.user("bluethroat")["roles"]] == ["auditor"]

    act(page, "Disable")
    dialog = page.get_by_role("dialog")
    says(dialog, "Lose access", "auditor 1 user")
    button(dialog, "Disable").click()
    disabled = page.locator(".badge", has_text="Disabled")
    expect(disabled).to_be_visible()
    assert house.user("bluethroat")["status"] == "disabled"
    button(page, "Undo").click()
    expect(disabled).to_have_count(0)

    act(page, "Ban")
    page.get_by_label("Reason").fill("Password shared")
    button(page, "Ban this user").click()
    says(page.locator("dd", has_text="Banned by admin"), "Password shared")
    ban = house.user("bluethroat")["ban"]
    lasts = datetime.fromisoformat(ban["until"]) - datetime.fromisoformat(ban["createTime"])
    assert (ban["reason"], round(lasts / timedelta(hours=1))) == ("Password shared", 24)
    visit.picture("user")
    act(page, "Lift the ban")
    expect(page.get_by_text("The ban of user bluethroat was lifted.")).to_be_visible()
    assert house.user("bluethroat")["ban"] is None

    act(page, "Delete")
    says(dialog, "The account bluethroat and its roles are deleted")
    follow(page, "Delete this user", "Users")
    assert house.items("user", userName="bluethroat") == []


def test_a_preview_names_users_for_whom_it_has_no_effect_yet(visit: Visit, house: House) -> None:
    number = house.member("garganey")
    house.send("PUT", f"/api/user/{number}/status", {"status": "disabled"})
    page = visit.open(f"/users/{number}/edit", "Edit garganey")
    page.get_by_role("checkbox", name="Auditor").check()
    button(page, "Save").click()
    dialog = page.get_by_role("dialog")
    says(
        dialog,
        "Nobody gains or loses access to anything.",
        "1 user who is disabled or banned: garganey.",
    )
    button(dialog, "Cancel").click()


def test_a_list_of_users_is_filtered_and_its_address_leads_back_to_it(visit: Visit, house: House) -> None:
    table = [
        {
            "userName": f"bird-{name.lower()}",
            "nickName": name,
            "email": f"{name}@birds.example",
            "roles": [role],
        }
        for name, role in zip(BIRDS, cycle(["auditor", "user", "user"]), strict=False)
    ]
    house.send("POST", "/api/user/import", {"users": table})
    page = visit.open("/users?email=birds.example&sort=-userName", "Users")
    rows = page.get_by_role("table").get_by_role("row")
    expect(rows).to_have_count(21)
    says(rows.nth(1), BIRDS[-1])
    expect(page.get_by_text(f"of {len(BIRDS)}").first).to_be_visible()
    visit.picture("users")
    button(page, "Next").click()
    expect(rows).to_have_count(1 + len(BIRDS) - 20)
    rows.last.get_by_role("link").click()
    headed(page, f"bird-{BIRDS[0].lower()}")
    page.go_back()
    expect(rows).to_have_count(1 + len(BIRDS) - 20)
    page.get_by_role("combobox", name="State").select_option("enabled")
    expect(page.get_by_text("Nothing matches these filters.")).to_be_visible()
    assert "status=enabled" in page.url
    button(page, "Clear the filters").click()
    expect(rows).to_have_count(21)


def test_an_edit_that_meets_the_edit_of_another_is_merged(visit: Visit, house: House) -> None:
    number = house.member("knot")
    page = visit.open(f"/users/{number}/edit", "Edit knot")
    ringers = house.make("role", roleName="Ringers", roleCode="ringers")
    roles = [ringers, *(given["id"] for given in house.user("knot")["roles"])]
    theirs = {"nickName": "Theirs", "phone": "+49 30 1234567", "roleIds": roles}
    house.send("PATCH", f"/api/user/{number}", theirs)

    name = page.get_by_role("textbox", name="Name", exact=True)
    name.fill("Mine")
    page.get_by_label("Email").fill("knot@example.org")
    button(page, "Save").click()
    says(page.get_by_role("alert"), "Changed by admin in the meantime", "Ringers")
    expect(page.get_by_label("Phone")).to_have_value("+49 30 1234567")
    visit.axe()
    visit.picture("merge")
    page.get_by_label(re.compile("Theirs")).check()
    expect(name).to_have_value("Theirs")
    follow(page, "Save", "knot")
    saved = house.user("knot")
    expected = {"nickName": "Theirs", "email": "knot@example.org", "phone": "+49 30 1234567"}
    assert saved.items() >= expected.items()
    assert {given["roleCode"] for given in saved["roles"]} == {"ringers", "knot"}


def test_a_session_of_a_user_is_shown_and_ended(visitor: Callable[[], Visit], house: House) -> None:
    number = house.member("plover", "system:role:list")
    theirs, mine = visitor(), visitor()
    theirs.sign_in("plover", "/roles")
    page = mine.open(f"/users/{number}/sessions", "plover")
    page.get_by_role("button", name=re.compile("^End the session on console-")).click()
    button(page.get_by_role("dialog"), "End").click()
    expect(page.get_by_text("This user is not signed in.")).to_be_visible()
    theirs.page.get_by_role("link", name="User", exact=True).click()
    expect(theirs.page.get_by_role("heading", name="Sign in again")).to_be_visible()
