"""What holds for every view: hostile texts stay texts, 320 pixels are enough, tab stops follow the eye."""

from collections.abc import Iterator
from typing import Any, Final

import pytest
from playwright.sync_api import expect

from tests.console.hostile import remove_long, store_long
from tests.console.house import House
from tests.console.states import ASTRAY, LAYOUT, NARROW, SIZES, Hostile, faults, paths, show
from tests.console.test_users import act, headed
from tests.console.visits import Visit


@pytest.fixture
def long(house: House) -> Iterator[dict[str, list[int]]]:
    """The ids of records with the longest names and codes."""
    ids = store_long(house.api)
    yield ids
    remove_long(house.api, ids)


def test_every_view_keeps_the_rules_with_the_longest_names(
    visit: Visit, house: House, long: dict[str, list[int]]
) -> None:
    broken: list[str] = []
    visit.sign_in()
    for path in paths(long):
        show(visit.page, path)
        broken += faults(visit.page, path)
    assert not broken, "\n".join(broken)
    refused = house.api.get("/api/operation-log/list?userName=admin&decision=deny").json()
    assert refused["data"]["items"] == []  # nothing that the console asks by itself is refused


def test_what_is_not_there_has_a_title_and_a_way_back(visit: Visit) -> None:
    page = visit.page
    heading, back = page.get_by_role("heading", level=1), page.get_by_role("navigation", name="Back")
    visit.sign_in(address="/roles/999999")
    for address, title in (
        ("/roles/999999", "Not found"),
        ("/roles/abc", "There is no such page"),
        ("/users/0", "There is no such page"),
    ):
        visit.go(address)
        expect(heading).to_have_text(title)
        expect(page).to_have_title(f"{title} · Portcullis")
        expect(page.get_by_role("main")).not_to_contain_text("Nothing was saved")
        back.get_by_role("link").click()
        headed(page, address.split("/")[1].title())
    visit.context.set_offline(offline=True)
    visit.expected.append("net::ERR_INTERNET_DISCONNECTED")
    for address, title in (("/roles", "Roles"), ("/roles/1", "The service can't be reached")):
        visit.go(address)
        expect(heading).to_have_text(title)
    visit.context.set_offline(offline=False)
    back.get_by_role("link").click()
    expect(page.get_by_role("table")).to_be_visible()


@pytest.mark.extended
def test_hostile_texts_stay_texts_no_view_is_too_wide_and_tab_stops_follow_the_eye(
    calm: Visit, hostile: Hostile
) -> None:
    page = calm.page
    wrong = []
    for path in [*hostile.paths, "/%3Cimg%20src=x%20onerror=alert(1)%3E"]:
        page.set_viewport_size(NARROW)
        shown = show(page, path)
        expect(shown.get_by_role("alert")).to_have_count(0)
        layout = page.evaluate(LAYOUT)
        astray = page.evaluate(ASTRAY)
        page.set_viewport_size(SIZES[0])
        astray += page.evaluate(ASTRAY)
        if layout != {"width": NARROW["width"], "markup": 0, "torn": 0} or astray:
            wrong.append((path, layout, astray))
    expect(page.get_by_role("heading", level=1)).to_have_text("There is no such page")
    assert not wrong, "\n".join(map(str, wrong))


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
