"""Tasks of people, each with the most clicks that it may take; by mouse, and by keyboard alone."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from playwright.sync_api import Locator, Page, expect

from tests.console.acts import button, card, headed
from tests.console.house import House
from tests.console.visits import Visit, settled
from tests.console.walks import Walk


@pytest.fixture(params=["mouse", pytest.param("keyboard", marks=pytest.mark.extended)])
def keys(request: pytest.FixtureRequest) -> bool:
    """Whether the task is done by the keyboard alone."""
    return bool(request.param == "keyboard")


@pytest.fixture
def name(keys: bool) -> Callable[[str], str]:
    """Return names of records of one test alone: the house is shared."""
    return lambda text: f"{text}-{'k' if keys else 'm'}"


def role(house: House, code: str, *codes: str) -> int:
    """Make a role that gives ``codes``; return its id."""
    body = {"roleName": f"The {code}", "roleCode": code, "permissions": list(codes)}
    made = house.api.post("/api/role", json=body)
    assert made.status_code == 201, made.text
    number: int = made.json()["data"]["id"]
    return number


def token(house: House, person: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {house.log_in(person)['accessToken']}"}


def roles_of(house: House, user: int) -> dict[str, Any]:
    """Return the assignments of a user, by the code of the role."""
    items = house.api.get(f"/api/user/{user}/roles").json()["data"]["items"]
    return {item["roleCode"]: item for item in items}


def find(page: Page, text: str) -> None:
    """Go to a user by keys: Ctrl+K, the name, Enter."""
    page.keyboard.press("Control+k")
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("combobox").fill(text)
    expect(dialog.get_by_role("group", name="Users").get_by_role("option", name=text)).to_be_visible()
    page.keyboard.press("Enter")


def desk(place: Page | Locator, text: str) -> Locator:
    """Return the row of a desk with a text."""
    return place.locator(".desk > li").filter(has_text=text)


def test_a_refusal_is_explained_and_repaired(
    visit: Visit, house: House, keys: bool, name: Callable[[str], str]
) -> None:
    page, dialog = visit.page, visit.page.get_by_role("dialog").last
    person, deleter = name("task-quentin"), name("task-deleter")
    user = house.member(person)
    role(house, deleter, "system:role:delete")
    role(house, name("task-deleter-and-more"), "system:role:delete", "system:role:list", "system:role:create")
    headers = token(house, person)
    for _ in range(12):
        assert httpx.delete(f"{house.url}/api/role/4712", headers=headers).status_code == 403
    house.wait_for_log("operation", 12, userName=person, decision="deny")
    visit.sign_in()
    walk = Walk(page, keys=keys)
    walk.act(desk(card(page, "Refused most often"), person).get_by_role("link", name="Explain"))
    headed(page, "Explain")
    answer = page.get_by_role("heading", level=2).first
    expect(answer).to_have_text(
        f"Refused {person} may not DELETE /api/role/4712: none of the user's roles gives system:role:delete."
    )
    alone = page.get_by_role("link", name="New role with only this")
    expect(alone).to_have_attribute("href", "#/roles/new?permissions=system%3Arole%3Adelete")
    visit.axe()

    walk.act(button(page, "Give a role"))
    expect(dialog.get_by_label("Reason")).to_have_value(
        re.compile("^Needed for DELETE /api/role/4712, refused by decision r")
    )
    walk.act(button(dialog, "Preview"))
    walk.act(button(dialog, "Assign a role"))
    expect(page.get_by_text(f"got the role The {deleter}")).to_be_visible()
    walk.took(5)
    assert {*roles_of(house, user)} == {person, deleter}


def test_a_request_is_approved_on_home(
    visit: Visit, house: House, keys: bool, name: Callable[[str], str]
) -> None:
    page, dialog = visit.page, visit.page.get_by_role("dialog").last
    lamp, asker, approver = name("task-lamp"), name("task-asker"), name("task-approver")
    number = role(house, lamp, "system:file:list")
    rule = {
        "requestableBy": "@login",
        "stages": [{"code": "system:job:list", "approvals": 1}],
        "maxDuration": 7200,
        "pendingTimeout": 86_400,
        "reasonRequired": True,
        "grantNeeded": False,
    }
    assert house.api.put(f"/api/role/{number}/request-rule", json=rule).status_code == 200
    user = house.member(asker)
    house.member(approver, "system:job:list")
    asked = {"roleCode": lamp, "duration": 3600, "reason": "The books"}
    made = httpx.post(f"{house.url}/api/access-request", json=asked, headers=token(house, asker))
    assert made.status_code == 201, made.text

    visit.sign_in(approver)
    walk = Walk(page, keys=keys)
    expect(page).to_have_title("(1) Portcullis")
    waiting = desk(card(page, "Waiting for you"), asker)
    expect(waiting).to_contain_text(f"{asker} asks for The {lamp}")
    expect(waiting).to_contain_text("1 hour · The books · expires")
    visit.axe()
    walk.act(button(waiting, "Approve"))
    walk.type(dialog.get_by_label("Reason"), "As agreed")
    walk.act(button(dialog, "Preview"))
    walk.act(button(dialog, "Approve"))
    expect(page.get_by_text(f"You have approved The {lamp} for {asker}.")).to_be_visible()
    expect(page).to_have_title("Portcullis")
    walk.took(3)
    assert lamp in roles_of(house, user)


def test_a_review_of_eleven_people_is_decided_on_home(
    visit: Visit, house: House, keys: bool, name: Callable[[str], str]
) -> None:
    page, dialog = visit.page, visit.page.get_by_role("dialog").last
    reviewed, reviewer = name("task-eleven"), name("task-reviewer")
    number = role(house, reviewed, "system:file:list")
    for place in range(11):
        given = {"roleId": number, "reason": "Keeps the files"}
        user = house.member(name(f"task-of-eleven-{place}"))
        assert house.api.post(f"/api/user/{user}/roles", json=given).status_code == 201
    for other in house.api.get("/api/review/list?state=open&size=200").json()["data"]["items"]:
        house.api.post(f"/api/review/{other['id']}/close")  # the house is shared
    decider = house.member(reviewer, "system:review:decide", "system:review:list")
    body = {
        "title": name("Task review"),
        "scope": {"roleIds": [number]},
        "reviewers": {"userIds": [decider]},
        "deadline": (datetime.now(UTC) + timedelta(days=7)).isoformat(),
        "onSilence": "keep",
        "apply": "at_end",
    }
    review = house.api.post("/api/review", json=body).json()["data"]["id"]
    sent: list[str] = []
    visit.hear("request", lambda request: sent.append(f"{request.method} {request.url}"))

    visit.sign_in(reviewer)
    walk = Walk(page, keys=keys)
    expect(page).to_have_title("(11) Portcullis")
    group = card(page, "Waiting for you")
    for item in group.locator(".people > li").all():
        item.scroll_into_view_if_needed()
    expect(group).to_contain_text("11 of 11 seen")
    visit.axe()
    walk.act(button(group, "Keep 11"))
    walk.type(dialog.get_by_label("Reason"), "Still in the team")
    walk.act(button(dialog, "Keep"))
    expect(card(page, "Waiting for you")).to_be_hidden()
    walk.took(6)
    decisions = [each for each in sent if each.startswith("POST") and each.endswith("/decision")]
    assert len(decisions) == 1
    items = house.api.get(f"/api/review/{review}/item/list").json()["data"]["items"]
    assert [item["decision"] for item in items] == ["keep"] * 11


def test_what_has_changed_since_yesterday_stands_in_one_view(
    visit: Visit, house: House, keys: bool, name: Callable[[str], str]
) -> None:
    page = visit.page
    person, clerk = name("task-changed"), name("task-clerk")
    user, number = house.member(person), role(house, clerk, "system:file:list")
    assert house.api.post(f"/api/user/{user}/roles", json={"roleId": number}).status_code == 201
    resource = {"resourceName": clerk, "resourceCode": clerk, "method": "GET", "path": f"/api/{clerk}"}
    made = house.api.post("/api/resource", json=resource).json()["data"]["id"]
    bound = {"codes": ["system:file:list"]}
    assert house.api.put(f"/api/resource/{made}/buttons", json=bound).status_code == 200
    house.wait_for_log("operation", target=f"user:{person}", rights="true")
    house.wait_for_log("operation", target=f"resource:GET /api/{clerk}", rights="true")

    visit.sign_in()
    walk = Walk(page, keys=keys)
    walk.act(page.get_by_role("navigation", name="Main navigation").get_by_role("link", name="Changes"))
    headed(page, "Changes")
    settled(page)
    walk.took(1)
    given = desk(page, f"gave role {clerk} to {person}")
    expect(given).to_contain_text(f"Gained: {clerk}")
    expect(page.get_by_role("heading", level=2).first).to_contain_text(str(datetime.now(UTC).year))
    binding = desk(page, f"bound Button system:file:list to resource GET /api/{clerk}")
    visit.axe()
    binding.get_by_text("lines +1").click()
    expect(binding.get_by_role("list", name="Lines added and removed")).to_contain_text(f"GET /api/{clerk}")
    button(binding, "Show gained and lost access").click()
    expect(binding).to_contain_text("Nobody gains or loses access to anything.")
    causes = house.api.get("/api/policy/revisions").json()["data"]["items"]
    assert causes[0]["cause"] == f"Buttons of resource GET /api/{clerk} replaced by admin"


def test_an_edit_of_a_role_is_reverted_later(
    visit: Visit, house: House, keys: bool, name: Callable[[str], str]
) -> None:
    page, dialog = visit.page, visit.page.get_by_role("dialog").last
    edited = name("task-edited")
    number = role(house, edited, "system:file:list", "system:role:list")
    path = f"/api/role/{number}/permissions"
    codes = {"permissions": ["system:file:list", "system:menu:list"]}
    assert house.api.put(path, json=codes).status_code == 200
    house.wait_for_log("operation", 2, target=f"role:{edited}", rights="true")

    visit.sign_in()
    walk = Walk(page, keys=keys)
    change = desk(card(page, "Latest changes of rights"), f"from role {edited}")
    walk.act(change.get_by_role("button", name="Revert"))
    expect(dialog).to_contain_text("The opposite change is saved as a new one.")
    walk.act(button(dialog, "Revert"))
    expect(page.get_by_text("Reverted:")).to_be_visible()
    walk.took(2)
    given = house.api.get(path).json()["data"]["permissions"]
    assert sorted(given) == ["system:file:list", "system:role:list"]


def test_a_role_is_given_for_two_weeks(
    visit: Visit, house: House, keys: bool, name: Callable[[str], str]
) -> None:
    page, dialog = visit.page, visit.page.get_by_role("dialog").last
    person, given = name("task-fortnight"), name("task-fortnightly")
    user = house.member(person)
    role(house, given, "system:file:list")
    visit.sign_in()
    walk = Walk(page, keys=keys)
    find(page, person)
    headed(page, person)
    walk.act(button(page, "Assign a role"))
    dialog.get_by_label("Role").select_option(label=f"The {given} ({given})")  # a click
    walk.act(button(dialog, "2 weeks"))
    walk.act(button(dialog, "Preview"))
    walk.act(button(dialog, "Assign a role"))
    expect(page.get_by_text(f"got the role The {given}")).to_be_visible()
    walk.took(4)
    until = datetime.fromisoformat(roles_of(house, user)[given]["until"])
    assert abs(until - datetime.now(UTC) - timedelta(days=14)) < timedelta(hours=2)


def test_a_leaver_is_disabled(visit: Visit, house: House, keys: bool, name: Callable[[str], str]) -> None:
    page, dialog = visit.page, visit.page.get_by_role("dialog").last
    person = name("task-leaver")
    user = house.member(person)
    visit.sign_in()
    walk = Walk(page, keys=keys)
    find(page, person)
    headed(page, person)
    walk.act(page.locator(".acts > summary"))
    walk.act(button(page, "Disable"))
    walk.act(button(dialog, "Disable"))
    expect(page.locator("h1 ~ .badges")).to_have_text("Disabled")
    walk.took(3)
    assert house.api.get(f"/api/user/{user}").json()["data"]["status"] == "disabled"
    if not keys:
        return
    page.keyboard.press("Control+z")  # the message stands until the next act
    expect(page.locator("h1 ~ .badges")).not_to_contain_text("Disabled")
    assert house.api.get(f"/api/user/{user}").json()["data"]["status"] == "enabled"


def revert(page: Page, text: str, place: int = 0) -> None:
    """Press Revert in the row of an entry; the newest is the first."""
    settled(page)
    rows = page.get_by_role("table").get_by_role("row").filter(has_text=text)
    rows.nth(place).get_by_role("button", name="Revert").click()


def test_one_revert_takes_back_all_parts_of_an_edit_and_the_history_shows_it(
    visit: Visit, house: House
) -> None:
    page, dialog = visit.page, visit.page.get_by_role("dialog").last
    number = role(house, "task-waders", "system:file:list")
    path = f"/api/role/{number}"
    before = [house.api.get(each).json()["data"] for each in (path, f"{path}/permissions")]
    edit = {"roleName": "Waders", "reasonRequired": True, "permissions": ["system:role:list"]}
    assert house.api.patch(path, json=edit).is_success
    house.wait_for_log("operation", 2, target="role:task-waders")
    visit.sign_in(address=f"/roles/{number}/history")
    revert(page, "changed the name and demand for a reason")
    expect(dialog).to_contain_text("Lose access")
    button(dialog, "Revert").click()
    newest = page.get_by_role("table").last.get_by_role("row").nth(1)
    expect(newest).to_contain_text("gave permission system:file:list to role task-waders, took")
    after = [house.api.get(each).json()["data"] for each in (path, f"{path}/permissions")]
    for each in (before[0], after[0]):
        del each["version"], each["updateTime"]
    assert before == after


def test_a_revert_takes_back_one_change_and_says_why_another_has_no_way_back(
    visit: Visit, house: House
) -> None:
    page, dialog = visit.page, visit.page.get_by_role("dialog").last
    user, number = house.member("task-plover"), role(house, "task-plovers", "system:file:list")
    assert house.api.patch(f"/api/user/{user}", json={"nickName": "First"}).status_code == 200
    assert house.api.patch(f"/api/user/{user}", json={"nickName": "Second"}).status_code == 200
    given = {"roleId": number, "reason": "By mistake"}
    assert house.api.post(f"/api/user/{user}/roles", json=given).status_code == 201
    house.wait_for_log("operation", 3, target="user:task-plover")
    visit.sign_in(address=f"/users/{user}/history")

    revert(page, "gave role task-plovers")
    expect(dialog).to_contain_text("Lose access")
    button(dialog, "Revert").click()
    expect(page.get_by_text("Reverted: admin gave role task-plovers to task-plover")).to_be_visible()
    assert "task-plovers" not in roles_of(house, user)
    given_row = page.get_by_role("table").get_by_role("row").filter(has_text="gave role task-plovers")
    expect(given_row.get_by_text("Reverted", exact=True)).to_be_visible()

    revert(page, "changed the name", 1)
    expect(dialog.get_by_role("alert")).to_contain_text("The value has been changed since: name.")
    page.keyboard.press("Escape")
    revert(page, "changed the name")
    button(dialog, "Revert").click()
    expect(page.get_by_text("Reverted: admin changed the name of user task-plover")).to_be_visible()
    assert house.api.get(f"/api/user/{user}").json()["data"]["nickName"] == "First"

    assert house.api.delete(f"/api/role/{number}").is_success
    house.wait_for_log("operation", 2, target="role:task-plovers")
    visit.go("/logs/operations?target=role:task-plovers")
    revert(page, "deleted role task-plovers")
    expect(dialog.get_by_role("alert")).to_contain_text("A deleted record cannot be restored.")

    made = role(house, "task-made")
    house.wait_for_log("operation", target="role:task-made")
    visit.go("/logs/operations?target=role:task-made")
    revert(page, "created role task-made")
    expect(dialog).to_contain_text("This deletes task-made, which this change created.")
    button(dialog, "Delete").click()
    expect(page.get_by_text("Reverted: admin created role task-made")).to_be_visible()
    assert house.api.get(f"/api/role/{made}").status_code == 404
