"""The erasure of a person in a browser: its preview, a refused reason, and the end of the account."""

import pytest
from playwright.sync_api import expect

from tests.console.acts import act, button, headed, says
from tests.console.conftest import _closed, house, visit, visitor
from tests.console.house import House
from tests.console.visits import Visit

__all__ = ["_closed", "house", "visit", "visitor"]  # fixtures

READS = ("system:user:list", "system:user:detail")
ACT = "Erase personal data"
OTHERS = {"nickName": "Siskin", "email": "siskin@example.org", "password": "four wary herons"}


def test_a_person_is_erased_after_the_preview_and_a_reason(visit: Visit, house: House) -> None:
    number = house.make("user", userName="forgettable-siskin", **OTHERS)
    house.member("eraser", *READS, "system:user:erase")
    page = visit.open(f"/users/{number}/roles", "forgettable-siskin", "eraser")

    act(page, ACT)
    asked = page.get_by_role("dialog", name="Erase the personal data of forgettable-siskin?")
    preview = asked.get_by_role("region", name="Preview of the erasure")
    says(preview, f"Replaced by #{number}", "siskin@example.org", "Stays")
    says(preview.locator("section", has_text="Deleted"), "user 1 row")
    visit.axe()
    button(asked, "Cancel").click()
    expect(asked).to_have_count(0)
    assert house.user("forgettable-siskin")["id"] == number

    act(page, ACT)
    button(asked, "Continue").click()
    last = page.get_by_role("dialog", name="Erase forgettable-siskin for ever?")
    expect(last.get_by_label("Reason")).to_be_focused()
    visit.axe()
    button(last, "Back").click()
    expect(preview).to_be_visible()
    button(asked, "Continue").click()
    last.get_by_label("Reason").fill("Siskin@example.org asked for it")
    button(last, "Erase for ever").click()
    says(last, "must not have a name or another value of the person")
    last.get_by_label("Reason").fill("Request of 12 November")
    button(last, "Erase for ever").click()
    done = page.get_by_role("dialog", name="The personal data of forgettable-siskin is being erased")
    says(done, "The account was deleted.", "for at least ten minutes", f"Keep the number {number}.")
    button(done, "Close").last.click()
    headed(page, "Users")
    assert house.items("user", userName="forgettable-siskin") == []
    house.wait_for_log("operation", target=f"user:#{number}", userName="eraser")


@pytest.mark.extended
def test_the_act_is_offered_for_other_people_to_holders_of_its_code(visit: Visit, house: House) -> None:
    number = house.member("kept-siskin")
    own = house.member("eraser-of-others", *READS, "system:user:erase")
    house.member("deleter-of-others", *READS, "system:user:delete")
    service = house.make("user", userName="siskin-program", nickName="Siskin", kind="service")
    for name, shown, count in (
        ("deleter-of-others", number, 0),
        ("eraser-of-others", number, 1),
        ("eraser-of-others", own, 0),
        ("eraser-of-others", service, 0),
    ):
        page = visit.open(f"/users/{shown}", house.send("GET", f"/api/user/{shown}")["userName"], name)
        offered = page.locator(".acts").get_by_text(ACT)
        expect(offered).to_have_count(count)
