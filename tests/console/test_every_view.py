"""What holds for every view: hostile texts of records stay texts, and 320 pixels are enough."""

from __future__ import annotations

import re
from typing import Any, Final

import pytest
from playwright.sync_api import Dialog, expect

from tests.console.house import House
from tests.console.test_scripts import CONSOLE as FILES
from tests.console.test_users import act, button, headed
from tests.console.visits import Visit

HOSTILE: Final = "<img src=x onerror=alert(1)>'\"><script>alert(2)</script>"
VIEWS: Final = re.findall(r'pattern: "([^"]+)"', (FILES / "loaders.js").read_text(encoding="utf-8"))
NARROW: Final = 320
"""CSS pixels: WCAG 2.2, 1.4.10 (Reflow)."""
RECORDS: Final = {
    "users": ("/api/user", {"userName": "hostile", "nickName": HOSTILE, "password": "four wary herons"}),
    "roles": ("/api/role", {"roleCode": "hostile", "roleName": HOSTILE, "description": HOSTILE}),
    "menus": ("/api/menu", {"menuType": "Menu", "title": HOSTILE}),
    "resources": (
        "/api/resource",
        {"resourceCode": "hostile", "resourceName": HOSTILE, "method": "GET", "path": "/hostile/{x}"},
    ),
    "services": ("/api/service", {"name": "hostile", "description": HOSTILE}),
}
"""How a record of each kind is made, by the first segment of the paths of its views."""
FOUND: Final = """() => ({
  width: document.documentElement.scrollWidth,
  markup: document.querySelectorAll("main img, main script, body script").length,
  torn: [...document.querySelectorAll(".listing .table:not(.keep) tbody :is(th, td):not(.row-actions, .box)")]
    .filter((cell) => cell.childNodes.length > 1).length,
})"""
"""How wide the page is, how much markup of others is in it, and how many cells of lists hold several items,
which a narrow screen would tear apart."""


def paths(house: House) -> list[str]:
    """Return the paths of all views, those of one record with the id of a hostile one."""
    ids = {}
    for kind, (path, body) in RECORDS.items():
        answer = house.api.post(path, json=body)
        assert answer.status_code == 201, answer.text
        ids[kind] = str(answer.json()["data"]["id"])
    known = [pattern for pattern in VIEWS if "{" not in pattern or pattern.split("/")[1] in ids]
    return [re.sub(r"\{\w+\}", ids.get(pattern.split("/")[1], ""), pattern) for pattern in known]


def test_hostile_texts_stay_texts_and_no_view_is_too_wide(visit: Visit, house: House) -> None:
    page = visit.page
    ran: list[str] = []

    def note(dialog: Dialog) -> None:
        ran.append(dialog.message)
        dialog.dismiss()

    visit.hear("dialog", note)
    for path in [*paths(house), "/%3Cimg%20src=x%20onerror=alert(1)%3E"]:
        if path == "/":
            visit.sign_in()
            page.set_viewport_size({"width": NARROW, "height": 640})
        page.evaluate("path => { location.hash = path; }", path)
        shown = page.locator(f'main .page[data-path="{path}"]')
        expect(shown).to_be_visible()
        expect(shown.locator("[aria-busy=true]")).to_have_count(0)
        expect(shown.get_by_role("heading", level=1)).not_to_be_empty()
        expect(shown.get_by_role("alert")).to_have_count(0)
        layout = page.evaluate(FOUND)
        assert layout == {"width": NARROW, "markup": 0, "torn": 0}, path
    expect(page.get_by_role("heading", level=1)).to_have_text("There is no such page")
    assert ran == []


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
    button(page, "Delete").click()
    expect(page.get_by_role("alert")).to_contain_text(UNSAFE)
    assert page.locator("img, main svg:not(.icon), dialog svg:not(.icon)").count() == 0
