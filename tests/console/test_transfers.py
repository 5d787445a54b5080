"""Tables that leave by an export or come by an import, and what the console says of them before."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.console.house import House
from tests.console.test_users import button, headed
from tests.console.visits import Visit


@pytest.mark.parametrize(
    ("path", "title"),
    [
        ("/users", "Users"),
        ("/roles", "Roles"),
        ("/logs/operations", "Audit log"),
        ("/logs/logins", "Sign-ins"),
    ],
)
def test_an_export_has_the_columns_that_it_names(visit: Visit, path: str, title: str) -> None:
    page = visit.page
    visit.sign_in(address=path)
    headed(page, title)
    button(page, "Export").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("status")).not_to_be_empty()
    named = dialog.locator("code").all_inner_texts()
    with page.expect_download() as download:
        button(dialog, "CSV").click()
    header = Path(download.value.path()).read_text(encoding="utf-8").splitlines()[0]
    assert next(csv.reader([header])) == named


@pytest.mark.extended
def test_an_export_says_its_filters_and_its_rows(visit: Visit, house: House) -> None:
    house.member("exported-one")
    for _ in range(2):
        house.log_in("exported-one")
    house.wait_for_log("login", 2, userName="exported-one")
    page = visit.page
    visit.sign_in(address="/logs/logins?userName=exported-one&outcome=success")
    headed(page, "Sign-ins")
    button(page, "Export").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("User: exported-one · Outcome: Success")
    expect(dialog.get_by_role("status")).to_have_text("2")
    visit.axe()
    visit.picture("export")


@pytest.mark.extended
@pytest.mark.parametrize(("kind", "name"), [("users", "wanda"), ("roles", "reporter")])
def test_a_template_is_a_table_that_can_be_imported(
    visit: Visit, tmp_path: Path, kind: str, name: str
) -> None:
    page = visit.page
    visit.sign_in(address=f"/{kind}/import")
    headed(page, f"Import {kind}")
    with page.expect_download() as download:
        button(page, "Download a template").click()
    file = tmp_path / download.value.suggested_filename
    download.value.save_as(file)
    page.get_by_label("A file: CSV").set_input_files(file)
    expect(page.get_by_text("1 to create")).to_be_visible()
    expect(page.get_by_role("row", name=name)).to_contain_text("Created")
    visit.axe()


@pytest.mark.extended
def test_a_template_of_an_openapi_document_can_be_read(visit: Visit, tmp_path: Path) -> None:
    page = visit.page
    visit.sign_in(address="/resources/import")
    headed(page, "Import from OpenAPI")
    with page.expect_download() as download:
        button(page, "Download a template").click()
    file = tmp_path / download.value.suggested_filename
    download.value.save_as(file)
    page.locator("input[type=file]").set_input_files(file)
    button(page, "Read the document").click()
    expect(page.get_by_role("table")).to_contain_text("/orders/{id}")
