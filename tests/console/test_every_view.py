"""What holds for every view: hostile texts stay texts, 320 pixels are enough, tab stops follow the eye."""

from __future__ import annotations

from typing import Any, Final

import pytest
from playwright.sync_api import expect

from tests.console.house import House
from tests.console.states import ASTRAY, LAYOUT, NARROW, SIZES, Hostile, show
from tests.console.test_users import act, headed
from tests.console.visits import Visit


@pytest.mark.extended
def test_hostile_texts_stay_texts_no_view_is_too_wide_and_tab_stops_follow_the_eye(
    calm: Visit, hostile: Hostile
) -> None:
    page = calm.page
    faults = []
    for path in [*hostile.paths, "/%3Cimg%20src=x%20onerror=alert(1)%3E"]:
        page.set_viewport_size(NARROW)
        shown = show(page, path)
        expect(shown.get_by_role("alert")).to_have_count(0)
        layout = page.evaluate(LAYOUT)
        astray = page.evaluate(ASTRAY)
        page.set_viewport_size(SIZES[0])
        astray += page.evaluate(ASTRAY)
        if layout != {"width": NARROW["width"], "markup": 0, "torn": 0} or astray:
            faults.append((path, layout, astray))
    expect(page.get_by_role("heading", level=1)).to_have_text("There is no such page")
    assert not faults, "\n".join(map(str, faults))


UNSAFE: Final = "<img src=x onerror=alert(1)><svg/onload=alert(2)>'\"&{{7*7}}"


@pytest.fixture
def made(house: House) -> dict[str, int]:
    """The ids of records with such text in every field that takes any."""

    def make(at: str, **body: Any) -> int:
        answer = house.api.post(at, json=body)
        assert answer.status_code in (200, 201), answer.text
        number: int = answer.json()["data"].get("id", 0)
        return number

    menu = make(
        "/api/menu", menuType="Menu", title=UNSAFE, name=UNSAFE, path="/<b>", component=UNSAFE, icon=UNSAFE
    )
    code = make("/api/menu", menuType="Button", title=UNSAFE, parentId=menu, authMark="unsafe:text")
    resource = make(
        "/api/resource",
        resourceName=UNSAFE,
        resourceCode="unsafe.text",
        method="GET",
        path="/api/unsafe",
        description=UNSAFE,
    )
    bound = {"resourceIds": [resource]}
    assert house.api.put(f"/api/menu/{code}/resources", json=bound).status_code == 200
    role = make("/api/role", roleName=UNSAFE, roleCode="unsafe", description=UNSAFE, menuIds=[menu, code])
    user = make(
        "/api/user",
        userName=UNSAFE,
        nickName=UNSAFE,
        password="four wary herons",
        roleIds=[role],
    )
    make(f"/api/online/{user}/ban", reason=UNSAFE)
    return {"menu": menu, "code": code, "role": role, "user": user}


def test_no_text_of_a_record_becomes_markup(visit: Visit, made: dict[str, int]) -> None:
    page = visit.page
    visit.hear("dialog", lambda dialog: pytest.fail(dialog.message))
    visit.sign_in(address=f"/users/{made['user']}")
    headed(page, UNSAFE)
    expect(page.locator("q")).to_have_text(UNSAFE)
    act(page, "Delete")
    expect(page.get_by_role("dialog")).to_contain_text(UNSAFE)
    page.keyboard.press("Escape")
    page.set_viewport_size({"width": 320, "height": 640})
    visit.go(f"/users/{made['user']}/edit")
    headed(page, f"Edit {UNSAFE}")
    visit.axe()  # the way back wraps
    page.set_viewport_size({"width": 1280, "height": 900})
    visit.go(f"/roles/{made['role']}")
    # The user's page has the same heading.
    expect(page.locator(f"main .page[data-path='/roles/{made['role']}']")).to_be_visible()
    act(page, "Disable")
    expect(page.get_by_role("dialog")).to_contain_text(UNSAFE)
    page.keyboard.press("Escape")
    visit.go(f"/menus/{made['code']}")
    expect(page.get_by_role("heading", name=UNSAFE)).to_be_visible()
    expect(page.get_by_role("table")).to_contain_text(UNSAFE)
    visit.go(f"/menus/{made['menu']}")
    expect(page.locator("dd", has_text=UNSAFE)).to_have_count(3)
    act(page, "Delete")
    expect(page.get_by_role("alert")).to_contain_text(UNSAFE)
    assert page.locator("img, main svg:not(.icon), dialog svg:not(.icon)").count() == 0
