"""Reviews of assignments, rights that nobody needs, and sign-offs of revisions."""

import io
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.console.acts import button, headed, says
from tests.console.conftest import _closed, house, visit, visitor
from tests.console.house import House
from tests.console.visits import Visit, settled

__all__ = ["_closed", "house", "visit", "visitor"]  # fixtures


DECIDES = ("system:review:list", "system:review:decide")


def held_by(house: House, role: str, *names: str) -> int:
    """Make a role, and users of it; return its id."""
    body = {"roleName": role.title(), "roleCode": role, "permissions": ["system:file:list"]}
    made = house.api.post("/api/role", json=body)
    assert made.status_code == 201, made.text
    number: int = made.json()["data"]["id"]
    for name in names:
        user = house.member(name)
        given = {"roleId": number, "reason": f"{name} keeps the files"}
        answer = house.api.post(f"/api/user/{user}/roles", json=given)
        assert answer.status_code == 201, answer.text
    return number


def begun(house: House, title: str, role: int, **changes: Any) -> dict[str, Any]:
    """Start a review of who has a role, by the API."""
    body = {
        "title": title,
        "scope": {"roleIds": [role]},
        "reviewers": {},
        "deadline": (datetime.now(UTC) + timedelta(days=7)).isoformat(),
        "onSilence": "keep",
        "apply": "at_end",
    }
    answer = house.api.post("/api/review", json=body | changes)
    assert answer.status_code == 201, answer.text
    review: dict[str, Any] = answer.json()["data"]
    return review


def decisions(house: House, review: int) -> dict[str, str | None]:
    """Return what is decided about each user."""
    answer = house.api.get(f"/api/review/{review}/item/list", params={"size": 200})
    return {item["userName"]: item["decision"] for item in answer.json()["data"]["items"]}


def holders(house: House, role: str) -> set[str]:
    answer = house.api.get("/api/user/list", params={"roleCode": role, "size": 200})
    return {user["userName"] for user in answer.json()["data"]["items"]}


def card(page: Page, name: str) -> Locator:
    return page.locator("section.card", has=page.get_by_role("heading", name=name, exact=True))


def group_of(page: Page, role: str) -> Locator:
    """Return the group of items of a role, whatever the ground of their proposal."""
    return page.locator("section.card", has=page.get_by_role("heading", name=f"{role}: "))


def begin_from_the_form(visit: Visit, role: str) -> None:
    """Start a review of who has a role: what is revoked is taken at once."""
    page, dialogs = visit.page, visit.page.get_by_role("dialog")
    visit.sign_in(address="/reviews")
    page.get_by_role("link", name="Start a review").click()
    headed(page, "Start a review")
    page.get_by_label("Title").fill("Access of the fourth quarter")
    page.get_by_role("group", name="Roles").get_by_role("searchbox").fill(role)
    page.get_by_role("checkbox", name=role).check()
    page.get_by_label("Reviewers", exact=True).fill("nobody-such")
    page.get_by_label("Decisions are applied").select_option("at once")
    button(page, "Preview").click()
    expect(page.get_by_text("There is no user nobody-such.", exact=True)).to_be_visible()
    page.get_by_label("Reviewers", exact=True).fill("woodlark")
    visit.axe()
    button(page, "Preview").click()
    says(dialogs, "It covers 3 assignments in their current state.", "Each of them has an eligible reviewer.")
    visit.axe()
    button(dialogs, "Start").click()
    headed(page, "Access of the fourth quarter")


def decide_the_group_and_an_exception(reviewer: Visit) -> None:
    """See by the number in the navigation what waits; revoke a group without one item, and keep that."""
    page, dialogs = reviewer.page, reviewer.page.get_by_role("dialog")
    reviewer.sign_in("woodlark")
    entry = page.get_by_role("navigation", name="Main navigation").get_by_role(
        "link", name=re.compile("^Reviews")
    )
    expect(entry).to_have_accessible_name("Reviews 3 waiting for you")
    entry.click()
    page.get_by_role("table").get_by_role("link", name="Access of the fourth quarter").click()
    page.get_by_role("link", name="For you (3)").click()
    group = group_of(page, "Rookery (rookery)")
    says(group, "3 of 3 seen", "rook-a keeps the files")
    group.get_by_role("checkbox", name="Decide about rook-b with the group").uncheck()
    expect(group).to_contain_text("3 of 3 seen, 1 excluded")
    reviewer.axe()
    reviewer.picture("review-group")
    button(group, "Revoke 2").click()
    expect(dialogs).to_contain_text("rook-a, rook-c")
    button(dialogs, "Revoke").click()
    expect(dialogs.get_by_label("Reason")).to_be_focused()  # it is needed
    dialogs.get_by_label("Reason").fill("They have left the files")
    reviewer.axe()
    button(dialogs, "Revoke").click()
    expect(dialogs).to_contain_text("Lose access")
    button(dialogs, "Revoke").click()
    expect(page.get_by_text("Decided about 2 assignments: revoke.")).to_be_visible()
    expect(entry).to_have_accessible_name("Reviews 1 waiting for you")
    button(group, "Details: Rookery of rook-b").click()
    says(dialogs, "system:file:list", "No invariant of the policy concerns it.")
    reviewer.axe()
    button(dialogs, "Keep: rook-b").click()
    dialogs.get_by_label("Reason").fill("Still keeps them")
    button(dialogs, "Keep").click()
    expect(page.get_by_text("You have decided about all items")).to_be_visible()
    expect(entry).to_have_accessible_name("Reviews")


@pytest.mark.extended
def test_a_group_and_an_exception_are_decided_the_revoked_role_is_gone_and_the_evidence_downloads(
    visitor: Callable[[], Visit], house: House
) -> None:
    held_by(house, "rookery", "rook-a", "rook-b", "rook-c")
    house.member("woodlark", *DECIDES)
    author, reviewer = visitor(), visitor()
    begin_from_the_form(author, "rookery")
    decide_the_group_and_an_exception(reviewer)
    assert holders(house, "rookery") == {"rook-b"}

    page, dialogs = author.page, author.page.get_by_role("dialog")
    author.go("/reviews")
    expect(page.get_by_role("table")).to_contain_text("3 of 3 decided")
    author.axe()
    page.get_by_role("table").get_by_role("link", name="Access of the fourth quarter").click()
    button(page, "Close the review").click()
    expect(dialogs).to_contain_text("All items are decided.")
    button(dialogs, "Close the review").click()
    expect(page.locator("h1 ~ .badges")).to_have_text("Closed")
    expect(button(page, "Close the review")).to_have_count(0)
    author.axe()
    page.get_by_role("link", name="All items").click()
    rows = page.get_by_role("table").get_by_role("row")
    expect(rows.filter(has_text="rook-a")).to_contain_text("Revoked")
    expect(rows.filter(has_text="rook-b")).to_contain_text("Kept")
    with page.expect_download() as waiting:
        button(page, "Evidence").click()
    assert re.fullmatch(r"review-\d+\.zip", waiting.value.suggested_filename)
    with ZipFile(io.BytesIO(Path(waiting.value.path()).read_bytes())) as archive:
        assert "manifest.json" in archive.namelist()


@pytest.mark.extended
def test_a_decision_about_a_group_is_made_about_those_that_were_in_view(visit: Visit, house: House) -> None:
    names = [f"starling-{number:02}" for number in range(24)]
    role = held_by(house, "murmuration", *names)
    review = begun(house, "All starlings", role)["id"]
    page, dialogs = visit.page, visit.page.get_by_role("dialog")
    page.set_viewport_size({"width": 1280, "height": 600})
    visit.sign_in(address=f"/reviews/{review}/mine")
    group = group_of(page, "murmuration")
    status = group.get_by_role("status")
    expect(status).to_have_text(re.compile(r"^[1-9] of 24 seen$"))
    seen = int(status.inner_text().split()[0])
    button(group, f"Keep {seen}").click()
    dialogs.get_by_label("Reason").fill("All of them are needed")
    button(dialogs, "Keep").click()
    expect(page.get_by_text(f"Decided about {seen} assignments: keep.")).to_be_visible()
    decided = decisions(house, review)
    assert sorted(name for name in names if decided[name]) == names[:seen]

    page.set_viewport_size({"width": 1280, "height": 3000})
    expect(status).to_have_text(f"{24 - seen} of {24 - seen} seen")


def test_an_item_is_shortened_by_the_keyboard_and_decided_otherwise_before_the_end(
    visit: Visit, house: House
) -> None:
    role = held_by(house, "heronry", "egret-a", "egret-b")
    review = begun(house, "All egrets", role)["id"]
    page, keys, dialogs = visit.page, visit.page.keyboard, visit.page.get_by_role("dialog")
    visit.sign_in(address=f"/reviews/{review}/mine")
    settled(page)
    button(page, "Details: Heronry of egret-a").focus()
    for _ in range(2):
        keys.press("Tab")
    expect(button(page, "Shorten: egret-a")).to_be_focused()
    keys.press("Enter")
    expect(dialogs.get_by_label("New end")).to_be_focused()
    dialogs.get_by_label("New end").fill("2020-01-01T00:00")
    dialogs.get_by_label("Reason").focus()
    keys.type("Until the move")
    keys.press("Tab")
    keys.press("Tab")
    keys.press("Enter")
    expect(dialogs.get_by_label("New end")).to_have_attribute("aria-invalid", "true")
    dialogs.get_by_label("New end").fill("2090-01-01T00:00")
    keys.press("Enter")
    expect(page.get_by_text("Decided about 1 assignment: shorten.")).to_be_visible()
    assert decisions(house, review) == {"egret-a": "shorten", "egret-b": None}

    visit.go(f"/reviews/{review}/items")
    button(page.get_by_role("table"), "Details: Heronry of egret-a").click()
    expect(dialogs).to_contain_text("Until the move")
    button(dialogs, "Revoke: egret-a").click()
    dialogs.get_by_label("Reason").fill("Moved already")
    button(dialogs, "Revoke").click()
    expect(page.get_by_role("row").filter(has_text="egret-a")).to_contain_text("Revoke by admin")
    assert decisions(house, review) == {"egret-a": "revoke", "egret-b": None}
    assert holders(house, "heronry") == {"egret-a", "egret-b"}


@pytest.mark.extended
def test_what_nobody_may_decide_is_a_finding_and_a_refusal_in_a_group_names_its_user(
    visit: Visit, house: House
) -> None:
    role = held_by(house, "aviary", "finch-a", "finch-b")
    alone = house.member("warden", *DECIDES)
    given = house.api.post(f"/api/user/{alone}/roles", json={"roleId": role})
    assert given.status_code == 201, given.text
    review = begun(house, "All finches", role, reviewers={"userIds": [alone]})["id"]
    page, dialogs = visit.page, visit.page.get_by_role("dialog")
    visit.sign_in("warden", f"/reviews/{review}")
    page.get_by_role("link", name="Findings (1)").click()
    rows = page.get_by_role("table").get_by_role("row")
    expect(rows).to_have_count(2)
    expect(rows.last).to_contain_text("No eligible reviewer")
    visit.axe()
    button(page, "Details: Aviary of warden").click()
    expect(dialogs.get_by_role("button", name=re.compile("Keep"))).to_have_count(0)
    page.keyboard.press("Escape")
    page.get_by_role("link", name="For you (2)").click()
    group = group_of(page, "Aviary (aviary)")
    expect(group).to_contain_text("2 of 2 seen")
    house.execute("UPDATE sys.review SET state = 'closing', close_time = now() WHERE id = %s", review)
    button(group, "Keep 2").click()
    dialogs.get_by_label("Reason").fill("Needed")
    button(dialogs, "Keep").click()
    expect(dialogs.get_by_role("alert")).to_contain_text("finch-b")
    house.execute("UPDATE sys.review SET state = 'closed', end_time = now() WHERE id = %s", review)


@contextmanager
def observed(house: House, role: str) -> Iterator[None]:
    """Let use have been recorded for long, and a role have been there before."""
    house.execute("DELETE FROM sys.use_recording")
    house.execute("INSERT INTO sys.use_recording (since_time) VALUES (now() - interval '400 days')")
    house.execute("UPDATE sys.timeline SET begin_time = now() - interval '500 days'")
    old = "now() - interval '500 days' WHERE"
    house.execute(f"UPDATE sys.role_code_life SET begin_time = {old} role_code = %s", role)
    of_role = "role_id = (SELECT id FROM sys.role WHERE role_code = %s)"
    house.execute(f"UPDATE sys.user_role SET create_time = {old} {of_role}", role)
    try:
        yield
    finally:
        house.execute("UPDATE sys.use_recording SET since_time = now()")


@pytest.mark.extended
def test_a_role_whose_permissions_nobody_needs_becomes_smaller_after_its_dry_run(
    visit: Visit, house: House
) -> None:
    user = house.member("firecrest", "system:role:list", "system:user:list")
    uses = "INSERT INTO sys.permission_use VALUES (%s, date_trunc('month', now()), %s::jsonb)"
    page, dialogs = visit.page, visit.page.get_by_role("dialog")
    with observed(house, "firecrest"):
        house.execute("DELETE FROM sys.permission_use WHERE user_id = %s", user)
        house.execute(uses, user, '{"system:role:list": 1}')
        visit.sign_in(address="/policy/unused?days=90")
        smaller = page.locator("section.card", has=page.get_by_role("heading", name="Smaller roles"))
        row = smaller.get_by_role("row").filter(has_text="firecrest")
        expect(row).to_contain_text("system:user:list")
        expect(page.get_by_role("main")).to_contain_text("Use is recorded since")
        visit.axe()
        visit.picture("unused")
        review = row.get_by_role("link", name="Review: firecrest")
        expect(review).to_have_attribute("href", re.compile(r"^#/reviews/new\?roleIds=\d+&unusedDays=90$"))
        button(row, "Try it: firecrest").click()
        expect(dialogs.get_by_role("heading", name="Lose access")).to_be_visible()
        expect(dialogs).to_contain_text("Removed permissions")
        visit.axe()
        button(dialogs, "Save the smaller role").click()
        expect(
            page.get_by_text("The unused permissions were removed from the role firecrest.")
        ).to_be_visible()
        expect(row).to_have_count(0)
        role = house.role("firecrest")["id"]
        given = house.send("GET", f"/api/role/{role}/permissions")
        assert given["permissions"] == ["system:role:list"]


def test_a_personal_key_could_have_fewer_scopes(visit: Visit, house: House) -> None:
    number = house.member("fieldfare", "system:role:list", "system:menu:list")
    order = {"name": "wide", "scopes": ["system:role:list", "system:menu:*"], "expiresIn": 3600}
    made = house.ask("fieldfare", "POST", "/api/user/profile/keys", order)
    assert made.status_code == 201, made.text
    old = "UPDATE sys.api_key SET create_time = now() - interval '1 day', needed_codes = %s"
    house.execute(f"{old} WHERE user_id = %s", ["system:role:list"], number)
    with observed(house, "fieldfare"):
        page = visit.open("/policy/unused?days=90", "Unused rights")
        smaller = page.locator(
            "section.card", has=page.get_by_role("heading", name="Smaller personal API keys")
        )
        shown = smaller.get_by_role("row").filter(has_text="fieldfare")
        says(shown, "wide", "Never used: system:menu:*", "system:role:list")
        visit.axe()


@pytest.mark.extended
def test_nothing_is_said_of_a_time_of_which_use_is_not_recorded(visit: Visit) -> None:
    page = visit.page
    visit.sign_in(address="/policy/unused")
    expect(page.get_by_role("main")).to_contain_text("which is too short for results")
    expect(page.get_by_role("table")).to_have_count(0)
    page.get_by_label("Days").fill("3650")
    button(page, "Show").click()
    expect(page).to_have_url(re.compile("days=3650$"))
    visit.axe()


@pytest.mark.extended
def test_a_revision_is_signed_off_and_what_changed_since_stands_in_one_place(
    visit: Visit, house: House
) -> None:
    page, dialogs = visit.page, visit.page.get_by_role("dialog")
    house.member("bittern", "*")  # revisions are the administrator's
    visit.sign_in("bittern", "/changes?since=sign-off")
    expect(page.get_by_role("main")).to_contain_text("You have not signed off any revision")
    newest = house.send("GET", "/api/policy/revisions", size=1)["items"][0]["revision"]
    visit.go(f"/policy/revisions/{newest}")
    button(page, "Sign off").click()
    dialogs.get_by_label("Title").fill("Reviewed before the winter")
    dialogs.get_by_label("Note").fill("Two findings, both accepted")
    visit.axe()
    button(dialogs, "Sign off").click()
    expect(card(page, "Signed off").get_by_role("table")).to_contain_text("Two findings, both accepted")
    visit.axe()

    held_by(house, "turnstone", "thrush")
    song = {"method": "GET", "path": "/sung", "resourceName": "Song", "resourceCode": "sung"}
    house.send("POST", "/api/resource", song)
    page.get_by_role("link", name="Revisions", exact=True).first.click()
    headed(page, "Revisions")
    expect(page.get_by_role("row").filter(has_text="Reviewed before the winter").last).to_be_visible()
    expect(page.get_by_text("Sign-offs: 1")).to_be_visible()
    page.get_by_role("link", name="Since my sign-off").click()
    headed(page, "Changes")
    expect(page.get_by_role("main")).to_contain_text("Reviewed before the winter")
    page.get_by_text("Policy lines from revision").click()
    expect(page.get_by_role("list", name="Lines added and removed")).to_contain_text("/sung")
    expect(page.get_by_text("created role turnstone")).to_be_visible()
    expect(page.get_by_text("gave role turnstone to thrush")).to_be_visible()
    visit.axe()
