"""Lists as a person wants them: columns, filters under a name, everything that matches, and as a file."""

from __future__ import annotations

import csv
import io
import re
from datetime import datetime
from pathlib import Path

import openpyxl
from playwright.sync_api import Locator, expect

from tests.console.acts import button, headed
from tests.console.house import House
from tests.console.visits import Visit, settled

FLOCK = 23


def view(visit: Visit) -> Locator:
    """Open the menu of the list."""
    menu = visit.page.locator("details.acts", has=visit.page.locator("summary", has_text="View"))
    menu.locator("summary").click()
    return menu


def test_a_list_keeps_its_columns_and_filters_and_selects_all_that_match(visit: Visit, house: House) -> None:
    for number in range(FLOCK):
        body = {"userName": f"quail-{number:02}", "nickName": "Quail", "kind": "service"}
        house.api.post("/api/user", json=body).raise_for_status()
    page = visit.page
    visit.sign_in(address="/service-accounts?keyword=quail")
    headed(page, "Service accounts")
    settled(page)
    page.get_by_role("checkbox", name="Select all on this page").check()
    expect(page.get_by_role("group", name="Selected users")).to_contain_text("20 selected")
    button(page, f"Select all {FLOCK} that match").click()
    expect(page.get_by_role("group", name="Selected users")).to_contain_text(f"{FLOCK} selected")

    menu = view(visit)
    menu.get_by_role("checkbox", name="Roles").uncheck()
    expect(page.get_by_role("columnheader", name="Roles")).to_have_count(0)
    menu.get_by_role("checkbox", name="Compact rows").check()
    expect(page.get_by_role("table")).to_have_class(re.compile(r"\bdense\b"))
    button(menu, "Save these filters").click()
    page.get_by_role("dialog").get_by_label("Name").fill("The flock")
    button(page.get_by_role("dialog"), "Save").click()
    expect(page.get_by_text("The filters were saved as The flock, under View.")).to_be_visible()

    visit.go("/users")
    headed(page, "Users")
    expect(page.get_by_role("columnheader", name="Roles")).to_be_visible()
    visit.go("/service-accounts")
    headed(page, "Service accounts")
    expect(page.get_by_role("columnheader", name="Roles")).to_have_count(0)
    menu = view(visit)
    menu.get_by_role("link", name="The flock").click()
    expect(page.get_by_role("searchbox", name="Name, email or phone")).to_have_value("quail")
    menu = view(visit)
    button(menu, "Delete the saved filters The flock").click()
    expect(view(visit).get_by_role("link", name="The flock")).to_have_count(0)


def test_signing_out_deletes_saved_filters_and_keeps_columns(visit: Visit) -> None:
    kept = (
        "() => Object.entries(localStorage).flatMap(([key, value]) => key.includes('.list.') ? [value] : [])"
    )
    page = visit.open("/users?keyword=somebody", "Users")
    menu = view(visit)
    menu.get_by_role("checkbox", name="Roles").uncheck()
    button(menu, "Save these filters").click()
    page.get_by_role("dialog").get_by_label("Name").fill("Somebody")
    button(page.get_by_role("dialog"), "Save").click()
    expect(page.get_by_text("The filters were saved as Somebody, under View.")).to_be_visible()
    assert "keyword=somebody" in page.evaluate(kept)[0]
    page.get_by_label("Signed in as").click()
    button(page, "Sign out").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Sign in")
    assert page.evaluate(kept) == ['{"hidden":["Roles"],"filters":{}}']


def test_a_list_is_saved_as_a_file_with_exact_times(visit: Visit, house: House) -> None:
    number = house.member("bittern")
    (given,) = house.api.get(f"/api/user/{number}/roles").json()["data"]["items"]
    page = visit.page
    visit.sign_in(address="/assignments?userName=bittern")
    headed(page, "Assignments")
    settled(page)
    begin = given["from"] or given["createTime"]
    button(page, "Export").click()
    with page.expect_download() as download:
        button(page.get_by_role("dialog"), "CSV").click()
    text = Path(download.value.path()).read_text(encoding="utf-8")
    assert text.startswith("\ufeff")
    header, row = csv.reader(text.removeprefix("\ufeff").splitlines())
    assert header[:4] == ["User", "Role", "From", "Until"]
    assert row[:4] == ["bittern", "bittern", begin, "No end"]

    button(page, "Export").click()
    with page.expect_download() as download:
        button(page.get_by_role("dialog"), "Excel").click()
    assert download.value.suggested_filename == "assignments.xlsx"
    (sheet,) = openpyxl.load_workbook(io.BytesIO(Path(download.value.path()).read_bytes())).worksheets
    assert sheet.freeze_panes == "A2"
    values = [[cell.value for cell in line[:4]] for line in sheet.iter_rows()]
    assert values[0] == ["User", "Role", "From (UTC)", "Until"]
    at = datetime.fromisoformat(begin).replace(tzinfo=None)
    assert values[1] == ["bittern", "bittern", at, "No end"]
