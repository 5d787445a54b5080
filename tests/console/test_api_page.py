"""The page of the API: its operations are folded, and each opens with what it refers to."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.console.visits import Visit


@pytest.mark.extended
@pytest.mark.feature("pages")
def test_operations_are_folded_and_open_with_their_examples(visit: Visit) -> None:
    page = visit.page
    page.goto("/docs")
    expect(page.locator(".opblock-tag").first).to_be_visible()
    expect(page.locator(".opblock")).to_have_count(0)
    page.get_by_role("link", name="role", exact=True).click()
    operation = page.locator("[id*=createRole]").first
    operation.locator("button.opblock-summary-control").click()
    expect(operation).to_contain_text('"roleCode": "reporter"')
    expect(operation).to_contain_text('"createTime"')  # of the answer, which is a component
