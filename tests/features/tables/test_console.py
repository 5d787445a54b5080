"""Imports of users and roles in the console: the template, the faults by row, and what is saved."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.console.acts import button, headed, says
from tests.console.conftest import _closed, house, visit, visitor
from tests.console.house import House
from tests.console.visits import Visit

__all__ = ["_closed", "house", "visit", "visitor"]  # fixtures


@pytest.mark.extended
@pytest.mark.parametrize(("kind", "name"), [("users", "wanda"), ("roles", "reporter")])
def test_a_template_is_a_table_that_can_be_imported(
    visit: Visit, tmp_path: Path, kind: str, name: str
) -> None:
    page = visit.open(f"/{kind}/import", f"Import {kind}")
    with page.expect_download() as download:
        button(page, "Download a template").click()
    file = tmp_path / download.value.suggested_filename
    download.value.save_as(file)
    page.get_by_label("A file: CSV").set_input_files(file)
    expect(page.get_by_text("1 to create")).to_be_visible()
    expect(page.get_by_role("row", name=name)).to_contain_text("To create")
    visit.axe()


@pytest.mark.extended
def test_the_faults_of_a_table_are_shown_by_row_before_it_is_saved(visit: Visit, house: House) -> None:
    page = visit.page
    visit.sign_in(address="/users/import")
    file = page.get_by_label("A file")

    def choose(text: str) -> None:
        file.set_input_files({"name": "users.csv", "mimeType": "text/csv", "buffer": text.encode()})

    choose("userName,nickName,roles\nruff,Ruff,auditor\nreeve,,nobody\n")
    expect(page.get_by_role("alert")).to_contain_text("Nothing was saved")
    faults = page.get_by_role("table").get_by_role("row")
    says(faults.nth(1), "3", "nickName")
    expect(page.locator(".request")).to_contain_text("422 ")
    visit.axe()
    visit.picture("import")

    choose("userName,nickName,roles\nruff,Ruff,auditor\nreeve,Reeve,\n")
    expect(page.get_by_text("2 to create")).to_be_visible()
    assert house.send("GET", "/api/user/list?userName=ruff")["total"] == 0
    visit.axe()
    button(page, "Save 2 rows").click()
    headed(page, "Users")
    assert [role["roleCode"] for role in house.user("ruff")["roles"]] == ["auditor"]
    button(page, "Export").click()
    with page.expect_download() as download:
        button(page.get_by_role("dialog"), "JSON Lines").click()
    assert '"userName":"ruff"' in download.value.path().read_text(encoding="utf-8").replace(": ", ":")
