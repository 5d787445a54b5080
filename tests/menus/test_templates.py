"""The functions of docs/guides/menus-for-front-ends.md make what three front ends expect of their back end.

``shapes`` has the routes that each of them shows as these Menus, in the form of its own back end or its own
examples: RuoYi-Vue (``RouterVo``, ``MetaVo``), vue-pure-admin (``asyncRoutes``), Art Design Pro
(``AppRouteRecord``).
"""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.docs.blocks import blocks
from tests.docs.pages import ROOT
from tests.menus.test_front_end import created
from tests.support.inside import Inside
from tests.support.left_out import NO_NODE
from tests.support.members import Member, member, query

GUIDE = ROOT / "docs" / "guides" / "menus-for-front-ends.md"
SHAPES = Path(__file__).with_name("shapes")
_MAKE = """
import { readFileSync } from "node:fs";
const { info, mine } = JSON.parse(readFileSync(0, "utf8"));
console.log(JSON.stringify({
  ruoyi: ruoyiRouters(mine.menus),
  "vue-pure-admin": pureRoutes(mine.menus),
  "art-design-pro": artMenus(mine.menus),
  permissions: [ruoyiPermissions(mine), purePermissions(mine)],
  user: artUser(info, mine),
}));
"""


def made(info: Any, mine: Any) -> dict[str, Any]:
    """Return what the functions of the guide make of the answers of a user."""
    if shutil.which("node") is None:
        pytest.skip(NO_NODE)
    program = "".join(block.text for block in blocks(GUIDE) if block.kind == "javascript") + _MAKE
    words = ["node", "--input-type=module", "--eval", program]
    ran = subprocess.run(
        words, input=json.dumps({"info": info, "mine": mine}), capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    answer: dict[str, Any] = json.loads(ran.stdout)
    return answer


def without_ids(routes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return routes without the ids of Menus, which differ each time."""
    return [
        {name: value for name, value in route.items() if name not in ("id", "children")}
        | {"path": re.sub(r"^/menu/\d+$", "/menu/ID", route["path"])}
        | ({"children": without_ids(route["children"])} if "children" in route else {})
        for route in routes
    ]


async def furnish(house: Inside, *codes: str) -> Member:
    """Make a user who sees a directory with two pages, a directory and a link, and holds ``codes``."""
    top = await created(house, "Shop", path="/shop", name="Shop", icon="cart", badge="beta")

    async def below(title: str, name: str, parent: Any = top, **more: Any) -> Any:
        place = {"sort": len(menus)} | ({"path": f"/shop/{more.pop('path')}"} if "path" in more else {})
        menus.append(await created(house, title, parent["id"], name=name, **place, **more))
        return menus[-1]

    menus: list[Any] = [top]
    orders = await below("Orders", "Orders", path="orders", component="shop/orders/index", keepAlive=True)
    await below("One order", "Order", path="orders/:id", component="shop/orders/order", hidden=True)
    reports = await below("Reports", "Reports", path="reports")
    await below("Months", "Months", reports, path="reports/months", component="shop/reports/months")
    await below("Manual", "Manual", link="https://example.org/manual")
    for sort, code in enumerate(("order:list", "order:edit")):
        button = {"menuType": "Button", "authMark": code, "sort": sort}
        await created(house, code, orders["id"], **button)
    for code in {*codes} - {"order:list", "order:edit", "*"}:
        await created(house, code, menuType="Button", authMark=code)
    clerk = await member(house, "clerk", *codes)
    for menu in menus:
        await query(house, "INSERT INTO sys.role_menu VALUES (%s, %s)", clerk.role_id, menu["id"])
    return clerk


async def shown_to(clerk: Member) -> dict[str, Any]:
    answers = [(await clerk.ask("GET", path)).json["data"] for path in ("/api/user/info", "/api/menu/mine")]
    return made(*answers)


async def test_the_routes_are_those_that_each_front_end_expects(house: Inside) -> None:
    shown = await shown_to(await furnish(house, "order:list", "order:edit"))
    for shape in sorted(SHAPES.glob("*.json")):
        assert without_ids(shown[shape.stem]) == json.loads(shape.read_text("utf-8"))["routers"], shape.stem


@pytest.mark.parametrize(
    ("codes", "permissions", "buttons"),
    [
        (["order:list"], ["order:list"], ["order:list"]),
        # Front ends compare texts: each code that a wildcard stands for is there.
        (["order:*"], *[["order:*", "order:edit", "order:list"]] * 2),
        (["*"], ["*:*:*"], None),
    ],
    ids=["a code", "a wildcard", "everything"],
)
async def test_permissions_are_told_as_each_front_end_compares_them(
    house: Inside, codes: list[str], permissions: list[str], buttons: list[str] | None
) -> None:
    shown = await shown_to(await furnish(house, *codes))
    assert shown["permissions"] == [permissions, permissions]
    held = shown["user"].pop("buttons")
    assert held == buttons or (buttons is None and {"order:list", "order:edit", "*"} < {*held})
    assert sorted(shown["user"]) == ["avatar", "email", "roles", "userId", "userName"]
