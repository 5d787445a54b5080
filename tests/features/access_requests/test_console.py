"""Requests for roles: asked for after a refusal, decided by others, and how roles are asked for."""

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import expect

from service.features.embedded.stores import EmbeddedStores
from tests.console.acts import button, headed, typed
from tests.console.conftest import _closed, house, visit, visitor
from tests.console.house import House
from tests.console.visits import Visit, new_context, settled

__all__ = ["_closed", "house", "visit", "visitor"]  # fixtures

FIRST, SECOND = "system:user:list", "system:menu:list"
STAGES = [{"code": FIRST, "approvals": 1}, {"code": SECOND, "approvals": 1}]
RULE: dict[str, Any] = {
    "requestableBy": "@login",
    "stages": STAGES,
    "maxDuration": 3600,
    "pendingTimeout": 7200,
    "reasonRequired": True,
    "grantNeeded": False,
}
LASTS = 12
"""Seconds that a role is given for: enough to work, and not long to wait for."""


STATEMENTS = """\
statements:
  - name: apart-in-menus
    reason: two pairs of eyes
    no_user_holds: ["system:menu:create", "system:menu:delete"]
    except_roles: [super, admin]
"""


def ruled(house: House, role: str, *codes: str, **changes: Any) -> int:
    """Make a role that gives ``codes``, with a rule; return its id."""
    body = {"roleName": role.title(), "roleCode": role, "permissions": list(codes)}
    made = house.api.post("/api/role", json=body)
    assert made.status_code == 201, made.text
    number: int = made.json()["data"]["id"]
    put = house.api.put(f"/api/role/{number}/request-rule", json=RULE | changes)
    assert put.status_code == 200, put.text
    return number


def asked(house: House, person: str, role: str, **body: Any) -> dict[str, Any]:
    """Ask for a role as ``person``, by the API."""
    token = house.log_in(person)["accessToken"]
    sent = {"roleCode": role, "duration": 600, "reason": "The books of this month"} | body
    headers = {"Authorization": f"Bearer {token}"}
    answer = httpx.post(f"{house.url}/api/access-request", json=sent, headers=headers)
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json()["data"]
    return made


def ask_after_a_refusal(visit: Visit) -> None:
    """Go where one may not, and ask for the role that opens it."""
    page = visit.open("/roles", "You have no access to this page", "quelea")
    button(page, "Ask for access").click()
    page.get_by_role("link", name="Ask for access: redpoll").click()
    headed(page, "Ask for the role Redpoll")
    expect(page.get_by_label("Role", exact=True)).to_have_value("redpoll")
    page.get_by_label("Reason").fill("A role for the night shift")
    page.get_by_label("Number").fill(str(LASTS))
    page.get_by_label("Unit").select_option("Seconds")
    visit.axe()
    button(page, "Preview").click()
    expect(page.get_by_role("dialog")).to_contain_text("does not change until the request is approved")
    visit.axe()
    button(page.get_by_role("dialog"), "Ask").click()
    headed(page, "Redpoll for quelea")
    expect(page.locator("h1 ~ .badges")).to_have_text("Waiting")
    expect(page.get_by_role("list", name="What happened").get_by_role("listitem")).to_have_count(3)


def approve_from_the_queue(visit: Visit, name: str, reason: str) -> None:
    """See by the number in the navigation that a request waits, and approve it after the preview."""
    page = visit.page
    visit.sign_in(name)
    waiting = page.get_by_role("navigation", name="Main navigation").get_by_role(
        "link", name=re.compile("^Requests")
    )
    expect(waiting).to_have_accessible_name("Requests 1 waiting for you")
    waiting.click()
    page.get_by_role("link", name="Waiting for you (1)").click()
    visit.axe()
    page.get_by_role("table").get_by_role("link", name="redpoll").click()
    headed(page, "Redpoll for quelea")
    button(page, "Approve").click()
    dialogs = page.get_by_role("dialog")
    dialogs.get_by_label("Reason").fill(reason)
    button(dialogs, "Preview").click()
    button(dialogs.last, "Approve").click()
    expect(page.get_by_text("You have approved Redpoll for quelea.")).to_be_visible()
    expect(waiting).to_have_accessible_name("Requests")
    expect(button(page, "Approve")).to_have_count(0)


@pytest.mark.extended
def test_who_is_refused_asks_two_people_approve_the_work_is_done_and_the_role_ends_by_itself(
    visitor: Callable[[], Visit], house: House
) -> None:
    ruled(house, "redpoll", "system:role:list", "system:role:create")
    house.member("quelea")
    house.member("chough", FIRST)
    house.member("weaver", SECOND)
    author, last = visitor(), visitor()
    page = author.page
    ask_after_a_refusal(author)
    approve_from_the_queue(visitor(), "chough", "As agreed")
    approve_from_the_queue(last, "weaver", "Night shift")
    expect(last.page.locator("h1 ~ .badges")).to_contain_text("Approved")

    author.go("/roles/new")
    headed(page, "New role")
    page.get_by_label("Name").fill("Night shift")
    page.get_by_label("Code").fill("night-shift")
    button(page, "Create").click()
    expect(page.get_by_text("Role Night shift was created.")).to_be_visible()
    author.go("/account")
    ends = page.locator("section.card", has=page.get_by_role("heading", name="Expiring roles"))
    expect(ends.get_by_role("timer")).to_have_text(re.compile(r"^\d+ s left$"))
    expect(ends.get_by_role("timer")).to_have_text("ended", timeout=1000 * (LASTS + 5))
    expect(page.get_by_text("Your permissions have changed")).to_be_visible()
    author.go("/roles")
    headed(page, "You have no access to this page")

    house.wait_for_log("operation", userName="quelea", target="role:night-shift")
    request = house.send("GET", "/api/access-request/list", roleCode="redpoll")
    reader = visitor()
    reader.sign_in(address=f"/access-requests/{request['items'][0]['id']}")
    expect(reader.page.locator("h1 ~ .badges")).to_contain_text("Has ended")
    story = reader.page.get_by_role("list", name="What happened").locator("> li > p:first-child")
    expect(story.filter(has_not_text="refreshed the session")).to_have_text(
        [
            "quelea was refused GET /api/role/list",
            "quelea asked for the role Redpoll: A role for the night shift",
            "chough approved (stage 1): As agreed",
            "weaver approved (stage 2): Night shift",
            "quelea got the role",
            "quelea created role night-shift",
            "The role expired",
        ]
    )
    reader.axe()
    reader.picture("access-request")


def test_a_role_is_asked_for_by_the_keyboard_alone(visit: Visit, house: House) -> None:
    ruled(house, "munia", "system:role:list", maxDuration=7200)
    house.member("tanager")
    page, keys = visit.page, visit.page.keyboard
    visit.sign_in("tanager", "/access-requests")
    page.get_by_role("link", name="Ask for a role").focus()
    keys.press("Enter")
    headed(page, "Ask for a role")
    keys.press("Tab")  # the way back
    for text in ("munia", "Inventory"):
        if text == "munia":
            page.get_by_label("Role", exact=True).focus()
        keys.type(text)
        keys.press("Tab")
    keys.press("Tab")  # for a time
    keys.type("2")
    keys.press("Enter")
    dialogs = page.get_by_role("dialog")
    expect(dialogs.get_by_role("button", name="Ask", exact=True)).to_be_focused()
    keys.press("Enter")
    headed(page, "Munia for tanager")
    [made] = house.send("GET", "/api/access-request/list", roleCode="munia")["items"]
    assert (made["duration"], made["reason"], made["userName"]) == (7200, "Inventory", "tanager")


@pytest.mark.extended
def test_what_breaks_the_rule_is_said_at_its_field_and_a_second_request_leads_to_the_first(
    visit: Visit, house: House
) -> None:
    ruled(house, "saltator", "system:role:list")
    house.member("seedeater")
    page = visit.page
    visit.sign_in("seedeater", "/access-requests/new?roleCode=saltator")
    page.get_by_label("Number").fill("3")
    button(page, "Preview").click()
    expect(page.get_by_role("group", name="For how long")).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_label("Reason")).to_have_attribute("aria-invalid", "true")
    page.get_by_label("Expiry").select_option("Until a date and time")
    expect(page.get_by_label("Number")).to_be_hidden()
    made = asked(house, "seedeater", "saltator")
    page.get_by_label("Until", exact=True).fill(typed(minutes=30))
    page.get_by_label("Reason").fill("Again")
    button(page, "Preview").click()
    page.get_by_role("alert").get_by_role("link", name="The pending request").click()
    button(page.get_by_role("dialog"), "Leave").click()
    headed(page, "Saltator for seedeater")
    assert page.url.endswith(f"/access-requests/{made['id']}")


@pytest.mark.extended
def test_an_approver_denies_and_an_author_withdraws_and_neither_is_offered_again(
    visitor: Callable[[], Visit], house: House
) -> None:
    ruled(house, "silverbill", "system:role:list")
    house.member("grassquit")
    house.member("bullfinch", FIRST)
    visit, author = visitor(), visitor()
    page = visit.page
    denied = asked(house, "grassquit", "silverbill")
    visit.sign_in("bullfinch", f"/access-requests/{denied['id']}")
    button(page, "Deny").click()
    button(page.get_by_role("dialog"), "Deny").click()
    expect(page.get_by_label("Reason")).to_be_focused()  # it is needed
    page.get_by_label("Reason").fill("Not this month")
    visit.axe()
    button(page.get_by_role("dialog"), "Deny").click()
    expect(page.locator("h1 ~ .badges")).to_have_text("Denied")
    expect(page.get_by_role("list", name="What happened")).to_contain_text(
        "bullfinch denied (stage 1): Not this month"
    )
    expect(page.get_by_role("button", name=re.compile("^(Deny|Approve)$"))).to_have_count(0)

    again = asked(house, "grassquit", "silverbill")
    author.sign_in("grassquit", f"/access-requests/{again['id']}")
    expect(button(author.page, "Approve")).to_have_count(0)
    button(author.page, "Withdraw").click()
    button(author.page.get_by_role("dialog"), "Withdraw").click()
    expect(author.page.locator("h1 ~ .badges")).to_have_text("Withdrawn")
    expect(button(author.page, "Withdraw")).to_have_count(0)
    author.go("/access-requests?state=denied")
    rows = author.page.get_by_role("table").get_by_role("row")
    expect(rows).to_have_count(2)
    expect(rows.last).to_contain_text("Denied")


@pytest.mark.extended
def test_the_preview_of_the_last_approval_says_what_is_gained_and_its_end_may_be_earlier(
    visit: Visit, house: House
) -> None:
    ruled(house, "goldfinch", "system:role:list", stages=STAGES[:1])
    house.member("greenfinch")
    house.member("chaffinch", FIRST)
    made = asked(house, "greenfinch", "goldfinch")
    page, dialogs = visit.page, visit.page.get_by_role("dialog")
    visit.sign_in("chaffinch", f"/access-requests/{made['id']}")
    button(page, "Approve").click()
    dialogs.get_by_label("Reason").fill("For a while")
    dialogs.get_by_label("Earlier end").fill(typed(days=2))
    button(dialogs, "Preview").click()
    expect(dialogs.get_by_label("Earlier end")).to_have_attribute("aria-invalid", "true")
    dialogs.get_by_label("Earlier end").fill("")
    button(dialogs, "Preview").click()
    expect(dialogs.last.get_by_role("heading", name="Gain access")).to_be_visible()
    expect(dialogs.last).to_contain_text("Your approval completes the last stage")
    button(dialogs.last, "Approve").click()
    expect(page.locator("h1 ~ .badges")).to_have_text("Approved")
    expect(page.get_by_role("timer")).to_have_text(re.compile(r"^\d+ min \d+ s left$"))


@pytest.mark.extended
def test_all_requests_are_found_by_state_role_and_user_and_show_what_the_role_opens(
    visit: Visit, house: House
) -> None:
    ruled(house, "waxbill", "system:role:list")
    house.member("firefinch")
    asked(house, "firefinch", "waxbill", ticket="OPS-4711")
    page = visit.page
    visit.sign_in(address="/access-requests")
    page.get_by_role("navigation", name="Parts of this page").get_by_role("link", name="All").click()
    expect(page.get_by_role("searchbox", name="Asked by")).to_be_visible()
    settled(page)
    page.get_by_role("combobox", name="State").select_option("Waiting")
    page.get_by_role("combobox", name="Role").select_option("waxbill")
    page.get_by_role("searchbox", name="Asked by").fill("firefinch")
    rows = page.get_by_role("table").get_by_role("row")
    expect(rows).to_have_count(2)
    visit.axe()
    visit.picture("access-requests")
    rows.last.get_by_role("link").click()
    headed(page, "Waxbill for firefinch")
    expect(page.get_by_role("main")).to_contain_text("OPS-4711")
    expect(page.get_by_role("link", name="Added access for firefinch")).to_be_visible()
    page.get_by_role("link", name="Access given").click()
    expect(page.get_by_role("table")).to_contain_text("/api/role/list")


@pytest.mark.extended
def test_how_a_role_is_asked_for_is_set_changed_and_ended_on_the_page_of_the_role(
    visit: Visit, house: House
) -> None:
    house.member("cardinal", "system:file:list")
    role = house.role("cardinal")["id"]
    rule = f"/api/role/{role}/request-rule"
    page, dialogs = visit.page, visit.page.get_by_role("dialog")
    visit.sign_in(address=f"/roles/{role}")
    page.get_by_role("link", name="Request rule").click()
    button(page, "Turn on requests").click()
    dialogs.get_by_label("Permission of stage 1").fill("no:such:code")
    button(dialogs, "Save").click()
    expect(dialogs).to_contain_text("No Button has this code")
    dialogs.get_by_label("Permission of stage 1").fill(FIRST)
    page.keyboard.press("Tab")  # away from what is suggested
    dialogs.get_by_label("People of stage 1").fill("2")
    button(dialogs, "Add a stage").click()
    expect(dialogs.get_by_label("Permission of stage 2")).to_be_focused()
    dialogs.get_by_label("Permission of stage 2").fill(SECOND)
    page.keyboard.press("Tab")
    visit.axe()
    visit.picture("request-rule")
    button(dialogs, "Save").click()
    expect(dialogs).to_have_count(2)  # the preview
    button(dialogs.last, "Save").click()
    main = page.get_by_role("main")
    expect(main).to_contain_text("everyone who is signed in")
    expect(main.get_by_role("listitem").filter(has_text="2 people of")).to_contain_text(FIRST)
    visit.axe()
    saved = house.send("GET", rule)
    assert saved["stages"] == [{"code": FIRST, "approvals": 2}, {"code": SECOND, "approvals": 1}]

    button(main, "Change").click()
    theirs = house.api.put(rule, json=RULE | {"stages": saved["stages"], "maxDuration": 7200})
    assert theirs.status_code == 200, theirs.text
    button(dialogs, "Remove stage 1").click()
    button(dialogs, "Save").click()
    expect(dialogs.get_by_role("alert")).to_contain_text("in the meantime")
    button(dialogs, "Save").click()
    expect(dialogs).to_have_count(2)  # the preview
    button(dialogs.last, "Save").click()
    expect(main).to_contain_text("2 hours")
    assert house.send("GET", rule)["stages"] == [{"code": SECOND, "approvals": 1}]

    button(main, "Turn off requests").click()
    button(dialogs, "Turn off requests").click()
    expect(main).to_contain_text("This role cannot be requested")
    assert house.api.get(rule).status_code == 404


@pytest.mark.extended
def test_an_emergency_gives_the_role_at_once_is_told_and_somebody_else_closes_it(
    visitor: Callable[[], Visit], house: House
) -> None:
    ruled(house, "serin", "system:role:list", stages=STAGES[:1], emergency=True, assurance="two-factors")
    house.member("siskin")
    house.member("greenshank", FIRST)
    author, approver = visitor(), visitor()
    page, theirs = author.page, approver.page
    author.sign_in("siskin", "/access-requests/new?roleCode=serin")
    _, recovery = house.enrol("siskin")
    page.get_by_label("Reason").fill("The database is down")
    button(page, "Preview").click()
    proof = page.get_by_role("dialog", name="Confirm your identity")
    button(proof, "Use a recovery code").click()
    proof.get_by_label("Recovery code").fill(recovery[0])
    page.keyboard.press("Enter")
    asked_for = page.get_by_role("dialog", name="Ask for the role Serin?")
    expect(asked_for).to_contain_text("you get the role at once")
    button(asked_for, "Ask").click()
    headed(page, "Serin for siskin")
    expect(page.locator("h1 ~ .badges")).to_have_text(re.compile("Approved.*Emergency.*To be closed"))
    expect(button(page, "Close the emergency")).to_have_count(0)

    approver.sign_in("greenshank", "/account/notices")
    theirs.get_by_role("row").get_by_role("link", name=re.compile("^siskin got the role serin")).click()
    headed(theirs, "Serin for siskin")
    approver.axe()
    button(theirs, "Close the emergency").click()
    closing = theirs.get_by_role("dialog", name="Close the emergency of siskin with Serin?")
    closing.get_by_label("Reason").fill("The database was down indeed")
    approver.axe()
    button(closing, "Close the emergency").click()
    expect(theirs.locator("h1 ~ .badges")).not_to_contain_text("To be closed")
    expect(button(theirs, "Close the emergency")).to_have_count(0)
    expect(theirs.get_by_role("list", name="What happened")).to_contain_text(
        "greenshank closed the emergency: The database was down indeed"
    )


@pytest.mark.extended
def test_a_role_with_a_later_beginning_waits_when_all_have_approved_and_is_given_by_the_job(
    visit: Visit, house: House
) -> None:
    ruled(house, "redstart", "system:role:list", stages=STAGES[:1])
    house.member("sanderling")
    house.member("stonechat", FIRST)
    begins = datetime.now(UTC) + timedelta(hours=1)
    made = asked(house, "sanderling", "redstart", **{"from": begins.isoformat()})
    page, dialogs = visit.page, visit.page.get_by_role("dialog")
    visit.sign_in("stonechat", f"/access-requests/{made['id']}")
    button(page, "Approve").click()
    dialogs.get_by_label("Reason").fill("From then on")
    button(dialogs, "Preview").click()
    expect(dialogs.last).to_contain_text("completes the last stage. The role starts at")
    button(dialogs.last, "Approve").click()
    expect(page.get_by_role("list", name="What happened").get_by_role("listitem").last).to_contain_text(
        "The role starts, if all approvals are still valid"
    )
    expect(page.locator("h1 ~ .badges")).to_have_text("Waiting")

    earlier = "UPDATE sys.access_request SET valid_from = now() - interval '1 minute' WHERE id = %s"
    house.execute(earlier, made["id"])
    house.send("POST", "/api/jobs/access-requests/run")
    expect(page.locator("h1 ~ .badges")).to_have_text("Waiting")
    house.wait_for_log("operation", module="access-request", target="user:sanderling")
    page.reload()
    visit.sign_in("stonechat", f"/access-requests/{made['id']}")
    expect(page.locator("h1 ~ .badges")).to_have_text("Approved")
    expect(page.get_by_role("list", name="What happened")).to_contain_text("sanderling got the role")


@pytest.fixture
def alone(stores: EmbeddedStores, published_template: str, _closed: None) -> Iterator[Callable[..., Visit]]:
    """Open a browser at a service with the given settings, in which no other test has made a user."""
    visits: list[Visit] = []

    def visit_of(**settings: str) -> Visit:
        house = House(stores, published_template, **settings)
        visits.append(Visit(house, new_context(house)))
        return visits[-1]

    yield visit_of
    troubles = [each.troubles for each in visits]
    for each in visits:
        each.house.end()
    assert not any(troubles), troubles


@pytest.mark.extended
def test_an_approver_reads_what_the_author_holds_already_and_which_statement_would_break(
    alone: Callable[..., Visit], tmp_path: Path
) -> None:
    stated = tmp_path / "stated.yaml"
    stated.write_text(STATEMENTS, "utf-8")
    visit = alone(PORTCULLIS_POLICY__INVARIANTS=str(stated))
    house = visit.house
    ruled(house, "dunnock", "system:menu:create", "system:file:list", stages=STAGES[:1])
    house.member("accentor", "system:menu:delete", "system:file:list")
    house.member("nuthatch", FIRST)
    made = asked(house, "accentor", "dunnock")
    visit.sign_in("nuthatch", f"/access-requests/{made['id']}")
    change = visit.page.locator(
        "section.card", has=visit.page.get_by_role("heading", name="Effect on access")
    )
    expect(change).to_contain_text("Permissions of the role that accentor already has:system:file:list")
    expect(change.get_by_role("listitem").filter(has_text="apart-in-menus")).to_contain_text("accentor")
    visit.axe()
    button(visit.page, "Approve").click()
    visit.page.get_by_label("Reason").fill("As agreed")
    button(visit.page.get_by_role("dialog"), "Preview").click()
    foreseen = visit.page.get_by_role("dialog").last
    expect(foreseen).to_contain_text("It would be refused because it violates the invariant apart-in-menus")


def test_the_catalogue_says_what_a_role_opens_for_how_long_and_who_approves(
    alone: Callable[..., Visit],
) -> None:
    visit = alone()
    house = visit.house
    ruled(house, "dunnock", "system:file:list", stages=[{"code": "system:scim:groups", "approvals": 1}])
    house.member("pipit")
    house.member("approver-of-dunnock", "system:scim:groups", "system:file:list")
    page = visit.page
    visit.sign_in("pipit")
    card = page.locator("section.card", has=page.get_by_role("heading", name="Ask for access", exact=True))
    expect(card.get_by_role("listitem").filter(has_text="Dunnock")).to_be_visible()

    visit.go("/access-requests/roles")
    headed(page, "Ask for access")
    role = page.locator("section.card", has=page.get_by_role("heading", name="Dunnock"))
    expect(role).to_contain_text("Files: List files")
    expect(role).to_contain_text("1 hour")
    expect(role).to_contain_text("admin or approver-of-dunnock")
    visit.axe()
    page.keyboard.press("Control+k")
    page.get_by_role("dialog").get_by_role("combobox").fill("dunnock")
    page.get_by_role("group", name="Ask for access").get_by_role("option", name="Dunnock").click()
    headed(page, "Ask for the role Dunnock")
    expect(page.get_by_role("main")).to_contain_text("admin or approver-of-dunnock")
    page.get_by_label("Reason").fill("The files of the summer")
    button(page, "Preview").click()
    button(page.get_by_role("dialog"), "Ask").click()
    headed(page, "Dunnock for pipit")

    visit.go("/access-requests/roles")
    role.get_by_role("link", name="Waiting").click()
    headed(page, "Dunnock for pipit")
    visit.go("/")
    own = page.locator("section.card", has=page.get_by_role("heading", name="Your requests"))
    button(own, "Withdraw").click()
    button(page.get_by_role("dialog"), "Withdraw").click()
    expect(own).to_contain_text("Withdrawn")
