"""Tables that leave by an export, what the console says of them before, and the template of a document."""

import csv
from pathlib import Path
from typing import Final

import pytest
from playwright.sync_api import expect

from tests.console.acts import button
from tests.console.house import House
from tests.console.visits import Visit
from tests.support.without import is_off

LOGS: Final = (("/logs/operations", "Audit log"), ("/logs/logins", "Sign-ins"))
TABLES: Final = (("/users", "Users"), ("/roles", "Roles"))
"""Lists that a feature exports."""


def test_an_export_has_the_columns_that_it_names(visit: Visit) -> None:
    visit.sign_in()
    for address, title in [*LOGS, *(() if is_off("tables") else TABLES)]:
        page = visit.show(address, title)
        button(page, "Export").click()
        dialog = page.get_by_role("dialog")
        expect(dialog.get_by_role("status")).not_to_be_empty()
        named = dialog.locator("code").all_inner_texts()
        with page.expect_download() as download:
            button(dialog, "CSV").click()
        header = Path(download.value.path()).read_text(encoding="utf-8-sig").splitlines()[0]
        assert next(csv.reader([header])) == named
        page.keyboard.press("Escape")
        expect(dialog).to_have_count(0)


@pytest.mark.extended
def test_an_export_says_its_filters_and_its_rows(visit: Visit, house: House) -> None:
    house.member("exported-one")
    for _ in range(2):
        house.log_in("exported-one")
    house.wait_for_log("login", 2, userName="exported-one")
    page = visit.open("/logs/logins?userName=exported-one&outcome=success", "Sign-ins")
    button(page, "Export").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("User: exported-one · Outcome: Success")
    expect(dialog.get_by_role("status")).to_have_text("2")
    visit.picture("export")


@pytest.mark.feature("tables")
@pytest.mark.extended
def test_a_template_of_an_openapi_document_can_be_read(visit: Visit, tmp_path: Path) -> None:
    page = visit.open("/resources/import", "Import from OpenAPI")
    with page.expect_download() as download:
        button(page, "Download a template").click()
    file = tmp_path / download.value.suggested_filename
    download.value.save_as(file)
    page.locator("input[type=file]").set_input_files(file)
    button(page, "Read the document").click()
    expect(page.get_by_role("table")).to_contain_text("/orders/{id}")
