"""Many roles, or resources, are changed at once in their list."""

from typing import Any

import pytest
from playwright.sync_api import expect

from tests.console.house import House
from tests.console.test_users import button, headed
from tests.console.visits import Visit

ROLES: tuple[dict[str, Any], ...] = tuple(
    {"roleCode": f"tern-{number}", "roleName": f"Tern {number}"} for number in (1, 2)
)
RESOURCES: tuple[dict[str, Any], ...] = tuple(
    {
        "resourceCode": f"tern-{number}",
        "resourceName": f"Tern {number}",
        "method": "GET",
        "path": f"/tern/{number}",
    }
    for number in (1, 2)
)


@pytest.mark.extended
@pytest.mark.parametrize(
    ("noun", "bodies"),
    [("role", ROLES), ("resource", RESOURCES)],
    ids=["roles", "resources"],
)
def test_many_are_disabled_and_enabled_after_a_preview_of_all(
    visit: Visit, house: House, noun: str, bodies: tuple[dict[str, Any], ...]
) -> None:
    ids = [house.api.post(f"/api/{noun}", json=body).json()["data"]["id"] for body in bodies]

    def states() -> list[bool]:
        return [house.api.get(f"/api/{noun}/{number}").json()["data"]["enabled"] for number in ids]

    page = visit.page
    visit.sign_in(address=f"/{noun}s?{noun}Name=Tern")
    headed(page, f"{noun.title()}s")
    bar = page.get_by_role("group", name="Selected records")
    dialog = page.get_by_role("dialog")
    expect(bar).to_be_hidden()
    for act, after in (("Disable", [False] * 2), ("Enable", [True] * 2)):
        for body in bodies:
            page.get_by_role("row", name=body[f"{noun}Name"]).get_by_role("checkbox").check()
        expect(bar).to_contain_text("2 selected")
        visit.axe()
        button(bar, act).click()
        expect(dialog).to_contain_text(f"{act} 2 {noun}s?")
        expect(dialog).to_contain_text(f"2 {noun}s to change, 0 already in this state.")
        button(dialog, act).click()
        expect(page.get_by_text(f"{act}d 2 {noun}s.")).to_be_visible()
        assert states() == after
        expect(bar).to_be_hidden()  # the list is there again
    for body in bodies:
        page.get_by_role("row", name=body[f"{noun}Name"]).get_by_role("checkbox").check()
    assert house.api.delete(f"/api/{noun}/{ids[1]}").status_code == 200
    button(bar, "Disable").click()
    expect(dialog.get_by_role("listitem")).to_have_text(f"{bodies[1][f'{noun}Name']} There is no such {noun}")
    assert house.api.delete(f"/api/{noun}/{ids[0]}").status_code == 200
