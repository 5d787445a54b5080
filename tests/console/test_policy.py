"""The views of the policy, as reviewers and administrators use them."""

import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from tests.console.acts import UNSAFE, button, follow, headed, narrow
from tests.console.house import House
from tests.console.visits import Visit
from tests.support.without import is_off

REQUEST = "GET /api/policy/permission-map"


def revision(house: House) -> int:
    number: int = house.send("GET", "/api/policy")["revision"]
    return number


def permitted(house: House, user: str) -> bool:
    asked: dict[str, Any] = dict(zip(("method", "path"), REQUEST.split(), strict=True))
    allowed: bool = house.send("POST", "/api/policy/explain", asked | {"userName": user})["allowed"]
    return allowed


def explain(visit: Visit) -> None:
    """Ask why magpie may not send the request, from the resource's page."""
    page = visit.page
    page.get_by_role("main").get_by_role("link", name="Explain").click()
    headed(page, "Explain")
    page.get_by_label("Who", exact=True).select_option("A user")
    page.get_by_label("User name").fill("magpie")
    button(page, "Ask").click()
    answer = page.get_by_role("region", name="Answer")
    expect(answer.get_by_role("heading", level=2)).to_contain_text("Refused")
    expect(answer).to_contain_text("The caller has none of the permissions in these lines.")
    expect(answer.locator(".decides")).to_have_text(
        "p, endpoint, GET /api/policy/permission-map, system:policy:read decides"
    )
    expect(answer).to_contain_text("from the role magpie")
    visit.axe()
    answer.scroll_into_view_if_needed()
    visit.picture("explain")


def test_a_change_is_previewed_saved_explained_and_restored(visit: Visit, house: House) -> None:
    house.member("magpie", "system:policy:read")
    page = visit.page
    method, path = REQUEST.split()
    visit.sign_in(address=f"/resources/new?method={method}&path={path}")
    page.get_by_label("Name", exact=True).fill("Map of permissions")
    button(page, "Preview").click()
    expect(page.get_by_role("dialog")).to_contain_text("Nobody gains or loses access")
    follow(page.get_by_role("dialog"), "Register", "Map of permissions")
    before = revision(house)

    button(page, "Bind Buttons").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("searchbox").fill("system:policy:reload")
    dialog.get_by_role("checkbox", name="system:policy:reload").check()
    button(dialog, "Preview").click()
    expect(dialog.get_by_role("heading", name="Lose access")).to_be_visible()
    expect(dialog).to_contain_text("magpie 1 endpoint for 1 user")
    visit.axe()
    visit.picture("resource-preview")
    button(dialog, "Save the bindings").click()
    expect(page.get_by_role("table")).to_contain_text("system:policy:reload")
    assert not permitted(house, "magpie")

    explain(visit)
    follow(page, "Revisions", "Revisions")
    page.get_by_role("row").nth(1).get_by_role("link").click()
    headed(page, f"Revision {before + 1}")
    diff = page.get_by_role("list", name="Lines added and removed")
    expect(diff.locator("del")).to_have_text(f"\u2212removed p, resource, {REQUEST}, @login")
    expect(diff.locator("ins")).to_have_text(f"+added p, resource, {REQUEST}, system:policy:reload")
    follow(page, "Before it", f"Revision {before}")
    button(page, "Restore").click()
    expect(dialog.get_by_role("heading", name="Gain access")).to_be_visible()
    expect(dialog).to_contain_text("buttons system:policy:reload → empty")
    visit.axe()
    visit.picture("restore")
    follow(dialog, "Restore it", f"Revision {before + 2}")
    assert permitted(house, "magpie")


@pytest.mark.extended
def test_revisions_are_compared_and_linked_to_who_gains(visit: Visit, house: House) -> None:
    before = revision(house)
    number = house.resource("GET /api/compared", "Compared")
    house.send("DELETE", f"/api/resource/{number}")
    page = visit.open("/policy/revisions")
    for place in (1, 3):
        page.get_by_role("row").nth(place).get_by_role("checkbox").check()
    button(page, "Compare the two").click()
    headed(page, "Changes")
    page.get_by_text(f"Policy lines from revision {before} to {before + 2}").click()
    expect(page.get_by_text("Both have the same lines.")).to_be_visible()
    page.get_by_label("Up to revision").fill(str(before + 1))
    button(page, "Show").click()
    page.get_by_text(f"Policy lines from revision {before} to {before + 1}").click()
    expect(page.locator(".diff ins", has_text="p, resource, GET /api/compared")).to_be_visible()
    button(page, "Show gained and lost access").click()
    expect(page.get_by_text("Nobody gains or loses access to anything.")).to_be_visible()
    page.get_by_label("Up to revision").fill("999999")
    button(page, "Show").click()
    expect(page.get_by_text("The revision does not exist")).to_be_visible()
    expect(page.get_by_label("Up to revision")).to_be_focused()


@pytest.mark.extended
def test_a_reviewer_finds_who_may_and_what_they_may(visit: Visit, house: House) -> None:
    house.member("jackdaw", "system:policy:read", "system:role:delete")
    page = visit.open("/policy/who", name="jackdaw")
    page.get_by_label("Method").select_option("DELETE")
    button(page, "Ask").click()
    expect(page.get_by_label("Path")).to_be_focused()
    page.get_by_label("Path").fill("/api/role/{id}")
    button(page, "Ask").click()
    row = page.get_by_role("row", name="jackdaw")
    expect(row).to_contain_text("system:role:delete")
    page.get_by_role("link", name="Users", exact=True).click()
    row.get_by_role("link", name="Explain jackdaw").click()
    expect(page.get_by_role("region", name="Answer")).to_contain_text("The user jackdaw")
    follow(page, "Who can", "Who can")
    page.get_by_label("Path").fill("/api/roles")
    button(page, "Ask").click()
    expect(page.get_by_text("No route of this service matches the request")).to_be_visible()
    assert "have access. Disabled" not in page.get_by_role("main").inner_text()
    expect(page.get_by_role("main").get_by_role("table")).to_have_count(0)
    page.get_by_label("About").select_option("A permission")
    page.get_by_label("Permission").fill("system:role:delete")
    button(page, "Ask").click()
    expect(page.get_by_role("table")).to_contain_text("jackdaw")

    follow(page, "What can", "What can")
    page.get_by_label("Who", exact=True).select_option("Role code")
    page.get_by_label("Role code").fill("no-such-role")
    button(page, "Ask").click()
    expect(page.get_by_text("There is no such role")).to_be_visible()
    page.get_by_label("Role code").fill("jackdaw")
    button(page, "Ask").click()
    expect(page.get_by_role("row", name="GET /api/auth/sessions").first).to_be_visible()
    through = page.get_by_role("rowheader", name="Through this role")
    own, login = through.bounding_box(), page.get_by_role("rowheader", name="is signed in").bounding_box()
    assert own is not None
    assert login is not None
    assert own["y"] < login["y"]
    page.get_by_label("Through").select_option("Through this role")
    expect(page.get_by_role("row", name="GET /api/auth/sessions")).to_have_count(0)
    expect(page.get_by_role("row", name="DELETE /api/role/{id}")).to_be_visible()
    page.get_by_label("Kind").select_option("Permissions to grant")
    codes = ["system:policy:read", "system:role:delete"]
    expect(page.get_by_role("rowheader")).to_have_text(["Through this role", *codes])


@pytest.mark.extended
def test_a_reviewer_asks_what_would_be_without_changing_it(visit: Visit, house: House) -> None:
    house.member(
        "avocet-if", "system:policy:read", "system:role:list", "system:user:list", "system:menu:list"
    )
    page = visit.open("/policy/what-if", "Simulate", "avocet-if")
    page.get_by_role("combobox", name="User name").fill("avocet-i")
    page.get_by_role("option", name="avocet-if").click()
    button(page, "Ask").click()
    expect(page.get_by_label("With", exact=True)).to_be_focused()  # nothing would be different
    page.get_by_label("With", exact=True).fill("audi")
    page.get_by_role("option", name="auditor").click()
    button(page, "Ask").click()
    expect(page.locator(".impact .good")).to_contain_text("auditor 1 user")
    expect(page.locator(".impact .bad")).to_have_count(0)
    visit.axe()
    visit.picture("what-if")

    page.get_by_label("Simulated change").select_option("The permissions of a role")
    page.get_by_role("combobox", name="Role code").fill("avocet-if")
    page.get_by_label("With", exact=True).fill("")
    page.get_by_label("Without").fill("system:role:lis")
    page.get_by_role("option", name="system:role:list").click()
    button(page, "Ask").click()
    expect(page.locator(".impact")).to_contain_text("GET /api/role/list")
    page.get_by_label("Without").fill("no:such")
    button(page, "Ask").click()
    expect(page.get_by_text("The role does not have no:such")).to_be_visible()

    page.get_by_label("Simulated change").select_option("The permissions of a resource")
    page.get_by_label("Resource", exact=True).fill("GET /api/role/{id}")  # not registered yet
    page.get_by_label("Without").fill("")
    page.get_by_label("With", exact=True).fill("system:file:list")
    button(page, "Ask").click()
    expect(page.locator(".impact .bad")).to_contain_text("avocet-if 1 user")
    expect(page.locator(".impact .good")).to_have_count(0)


@pytest.mark.extended
def test_the_matrix_is_searched_folded_saved_and_walked_by_keys(visit: Visit, house: House) -> None:
    page = visit.open("/policy/matrix?roles=auditor,super")
    expect(page.get_by_role("columnheader", name="Super administrator super")).to_be_visible()
    page.get_by_role("searchbox", name="Part of method and path").fill("/api/role")
    row = page.get_by_role("row", name="DELETE /api/role/{id}").filter(has_not_text="request-rule")
    expect(row.get_by_role("gridcell")).to_have_text(["\u2013", "\u2731"])
    expect(row.get_by_role("link", name="by a wildcard *")).to_have_count(1)
    own = page.get_by_role("row", name="GET /api/role/list").get_by_role(
        "link", name="by an explicit permission"
    )
    expect(own).to_have_count(1)
    visit.picture("matrix")
    expect(page.locator("tbody [tabindex='0']")).to_have_count(1)

    group = page.get_by_role("button", name="/api/role (")
    group.focus()
    page.keyboard.press("Enter")
    expect(row).to_be_hidden()
    page.keyboard.press("Enter")
    expect(row).to_be_visible()
    row.evaluate("(row) => { globalThis.kept = row; }")
    page.get_by_label("Only differences").check()
    expect(page).to_have_url(re.compile("differing=true"))
    expect(page.get_by_role("row", name="GET /api/role/list")).to_have_count(0)
    assert row.evaluate("(row) => row === globalThis.kept")  # with the focus that it may have
    with page.expect_download() as download:
        button(page, "Download as CSV").click()
    lines = Path(download.value.path()).read_text(encoding="utf-8").splitlines()
    assert lines[0] == "Endpoint,Authentication,auditor,super"
    assert "DELETE /api/role/{id},,no,by a wildcard *" in lines

    page.locator("tbody tr").nth(1).get_by_role("link").first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    cell = page.locator("tbody tr").nth(2).get_by_role("link").nth(1)
    expect(cell).to_be_focused()
    expect(page.locator("tbody [tabindex='0']")).to_have_count(1)
    page.keyboard.press("Enter")
    expect(page.get_by_role("region", name="Answer")).to_contain_text("The role ")
    button_ = page.get_by_role("link", name="Public access")
    button_.click()
    expect(page.get_by_role("row", name="POST /api/auth/login Nothing")).to_be_visible()
    assert house


@pytest.mark.extended
def test_the_lines_in_force_are_searched(visit: Visit) -> None:
    visit.page.reload()  # a document that has loaded nothing of features yet
    page = visit.open("/policy")
    page.get_by_role("searchbox", name="Search in lines").fill("policy:RESTORE")
    page.get_by_label("Layer").select_option("Endpoint")
    expect(page.locator("tbody tr").last).to_contain_text("system:policy:restore")
    page.get_by_text("model.conf").click()
    expect(page.locator(".model")).to_contain_text("[policy_effect]")
    scripts = page.evaluate("() => performance.getEntriesByType('resource').map(({ name }) => name)")
    added = [script for script in scripts if script.endswith("/features/follower/followers.js")]
    assert len(added) == (not is_off("follower"))


@pytest.mark.feature("follower")
@pytest.mark.extended
def test_who_follows_the_policy_is_shown_with_how_far_it_is_behind(visit: Visit, house: House) -> None:
    house.make("service", name="parcels")
    role = house.make("role", roleName="follower", roleCode="follower", permissions=["system:policy:follow"])
    names = {"userName": "parcels-pdp", "nickName": "parcels-pdp"}
    account = house.make("user", **names, kind="service", service="parcels", roleIds=[role])
    key = house.send("POST", f"/api/user/{account}/keys", {"name": "k"})["key"]
    renewal = {"services": ["parcels"], "nonce": "n", "names": "A" * 22}
    for name, lease in (("parcels-1", 60), ("parcels-2", 0.1)):
        body: dict[str, Any] = renewal | {"follower": name, "lease": lease}
        with house.service.client() as client:  # that of the house asks as the administrator
            client.headers["Authorization"] = f"Bearer {key}"
            for _ in range(2):
                answer = client.post("/access/v1/follow", json=body)
                assert answer.status_code == 200, answer.text
                body["position"] = answer.json()["position"]
    before = revision(house)
    house.resource("GET /parcels", "Parcels", service="parcels")
    assert revision(house) == before + 1

    visit.sign_in(address="/policy")
    table = visit.page.get_by_role("region", name="Followers").get_by_role("table")
    first = table.get_by_role("row").filter(has=visit.page.get_by_role("rowheader", name="parcels-1"))
    expect(first).to_contain_text(re.compile(rf"Decides.*parcels-pdp.*parcels.*{before}.*1 revision.*60 s"))
    expect(table.get_by_role("row", name="parcels-2")).to_contain_text(re.compile(r"No lease.*0\.1 s"))
    expect(table.get_by_role("link", name="parcels-pdp").first).to_be_visible()
    visit.axe()
    narrow(visit.page)


def test_a_question_in_an_address_is_text_and_never_markup(visit: Visit) -> None:
    page = visit.open(f"/policy/explain?userName={quote(UNSAFE)}&method=GET&path={quote('/api/<b>')}")
    expect(page.get_by_label("Path")).to_have_value("/api/<b>")
    expect(page.get_by_label("User name")).to_have_value(UNSAFE)
    expect(page.locator(".fault:not(:empty)").first).to_be_visible()
    visit.go(f"/policy/explain?permission={quote('a:<i>')}")
    expect(page.get_by_text("This is not a permission code")).to_be_visible()
