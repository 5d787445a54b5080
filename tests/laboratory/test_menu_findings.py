"""What is wrong with the tree of menus: found by the lint, and warned of before it is saved."""

from typing import Any

from service.laboratory.findings.menu_findings import PlacedMenu, menu_findings
from tests.support.cases import with_each
from tests.support.inside import Inside


def menu(number: int, parent: int | None = None, **values: Any) -> PlacedMenu:
    given = {"title": f"M{number}", "name": None, "path": None, "redirect": None} | values
    return PlacedMenu(number, parent, **given)


def places(*menus: PlacedMenu) -> list[tuple[str, str]]:
    return [(finding.finding, finding.place) for finding in menu_findings(menus)]


def test_a_doubled_route_name_and_a_doubled_whole_path_are_found() -> None:
    assert places(menu(1, name="User"), menu(2, name="User"), menu(3, name="user")) == [
        ("menu-name-doubled", "User")
    ]
    above = menu(1, path="/system")
    assert places(above, menu(2, 1, path="user"), menu(3, path="/system/user"), menu(4, path="user")) == [
        ("menu-path-doubled", "/system/user")
    ]
    assert places(menu(1, path="https://a.example"), menu(2, path="https://a.example"), menu(3)) == []


@with_each(
    ("redirect", "lost"),
    [
        ("/system/user", False),
        ("/system/user?tab=1#top", False),
        ("/report/7", False),
        ("/system", False),
        ("/system/users", True),
        ("/report/7/edit", True),
    ],
)
def test_a_redirect_to_the_path_of_no_menu_is_found(redirect: str, lost: bool) -> None:
    placed = (menu(1, path="/system"), menu(2, 1, path="user"), menu(3, path="/report/:id"))
    assert places(*placed, menu(4, path="/home", redirect=redirect)) == (
        [("menu-redirect-nowhere", "M4 (4)")] if lost else []
    )


async def test_a_dry_run_warns_of_what_an_edit_of_a_menu_would_add_and_of_nothing_else(house: Inside) -> None:
    new = {"menuType": "Menu", "title": "Reports", "name": "Reports", "path": "/reports"}
    made = await house.data("POST", "/api/menu", new)
    assert (await house.preview("POST", "/api/menu", new | {"name": "Other", "path": "/other"}))[
        "warnings"
    ] == []

    warnings = (await house.preview("POST", "/api/menu", new | {"redirect": "/nowhere"}))["warnings"]
    assert [text.partition(":")[0] for text in warnings[:2]] == ["Reports", "/reports"]
    assert "it redirects to /nowhere" in warnings[2]
    edit = {"redirect": "/nowhere"}
    await house.data("PATCH", f"/api/menu/{made['id']}", edit, ("If-Match", "*"))
    again = await house.preview("PATCH", f"/api/menu/{made['id']}", {"icon": "x"}, ("If-Match", "*"))
    assert again["warnings"] == []
