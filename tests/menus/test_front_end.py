"""What a front end needs of menus: it makes its routes and buttons of one answer."""

from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.support.cases import with_each
from tests.support.inside import Inside
from tests.support.members import member, query

SHOWN: dict[str, Any] = {
    "hidden": True,
    "keepAlive": True,
    "redirect": "/system/user",
    "link": "https://example.org/help?x=1#top",
    "badge": "new",
    "meta": {"layout": "wide", "tabs": [1, 2.5, None], "of": {"deep": True}},
}
BAD_PATHS = [
    "javascript:alert(1)",
    "data:text/html,x",
    "//example.org",
    "/\\example.org",
    "\\\\example.org",
    "/a\tb",
    "/a\x00b",
    " /a",
    "/a\u202eb",
    "relative",
    "",
]
BAD_LINKS = [
    *BAD_PATHS,
    "JavaScript:alert(1)",
    "ftp://example.org",
    "https:///example.org",
    "https://",
    "https://bank.example@example.org/",
    "https://example.org\\@other.example",
]


async def created(service: Inside, title: str, parent: int | None = None, **more: Any) -> Any:
    body = {"menuType": "Menu", "title": title, "parentId": parent} | more
    return await service.data("POST", "/api/menu", body)


@dataclass
class Router:
    """The routes, entries and buttons of a front end, made of the answer of ``GET /api/menu/mine`` alone."""

    routes: dict[str, str] = field(default_factory=dict)
    redirects: dict[str, str] = field(default_factory=dict)
    entries: list[str] = field(default_factory=list)
    links: dict[str, str] = field(default_factory=dict)
    kept: set[str] = field(default_factory=set)
    buttons: dict[str | None, list[str]] = field(default_factory=dict)
    badges: dict[str, str] = field(default_factory=dict)
    layouts: dict[str, str] = field(default_factory=dict)

    def take(self, menus: list[dict[str, Any]], *, hidden: bool = False) -> None:
        for menu in menus:
            path, title = menu["path"], menu["title"]
            if menu["redirect"]:
                self.redirects[path] = menu["redirect"]
            elif menu["component"]:
                self.routes[path] = menu["component"]
            if menu["link"]:
                self.links[title] = menu["link"]
            if menu["keepAlive"]:
                self.kept.add(path)
            if menu["badge"]:
                self.badges[title] = menu["badge"]
            if menu["meta"]:
                self.layouts[path] = menu["meta"]["layout"]
            if not (hidden or menu["hidden"]):
                self.entries.append(title)
            self.buttons[title] = menu["buttons"]
            self.take(menu["children"], hidden=hidden or menu["hidden"])


def built(answer: dict[str, Any]) -> Router:
    router = Router(buttons={None: answer["buttons"]})
    router.take(answer["menus"])
    return router


async def test_a_router_with_its_buttons_is_built_from_one_answer(house: Inside) -> None:
    shop = await created(house, "Shop", path="/shop", redirect="/shop/orders", badge="beta")
    orders = await created(
        house,
        "Orders",
        shop["id"],
        path="/shop/orders",
        component="shop/orders",
        keepAlive=True,
        meta={"layout": "wide"},
    )
    detail = await created(
        house, "One order", shop["id"], path="/shop/orders/:id", component="shop/order", hidden=True
    )
    manual = await created(house, "Manual", shop["id"], link="https://example.org/manual")
    button: dict[str, Any] = {"menuType": "Button", "sort": 1}
    codes = {"order:list": orders["id"], "order:delete": orders["id"], "quick:search": None}
    buttons = [await created(house, code, parent, authMark=code, **button) for code, parent in codes.items()]
    await created(house, "quick:print", authMark="quick:print", **button)
    clerk = await member(house, "clerk", "order:list", "quick:search")
    for menu in (orders, detail, manual):
        await query(house, "INSERT INTO sys.role_menu VALUES (%s, %s)", clerk.role_id, menu["id"])

    answer = (await clerk.ask("GET", "/api/menu/mine")).json["data"]

    router = built(answer)
    assert router.routes == {"/shop/orders": "shop/orders", "/shop/orders/:id": "shop/order"}
    assert router.redirects == {"/shop": "/shop/orders"}
    assert router.entries == ["Shop", "Orders", "Manual"]
    assert router.links == {"Manual": "https://example.org/manual"}
    assert (router.kept, router.layouts) == ({"/shop/orders"}, {"/shop/orders": "wide"})
    assert router.badges == {"Shop": "beta"}
    assert router.buttons == {
        None: ["quick:search"],
        "Shop": [],
        "Orders": ["order:list"],
        "One order": [],
        "Manual": [],
    }
    assert answer["codes"] == answer["permissions"] == ["order:list", "quick:search"]
    assert {made["authMark"] for made in buttons} > set(answer["codes"])


async def test_a_wildcard_stands_for_itself_in_permissions_and_for_each_code_in_codes(house: Inside) -> None:
    answer = await house.data("GET", "/api/menu/mine")
    rows = await query(house, "SELECT auth_mark FROM sys.menu WHERE menu_type = 'Button' AND enabled")
    assert (answer["permissions"], answer["codes"]) == (["*"], sorted(code for (code,) in rows))


async def test_permissions_are_the_same_in_both_answers(house: Inside) -> None:
    for code in ("order:*", "order:list", "order:delete"):
        await created(house, code, menuType="Button", authMark=code)
    clerk = await member(house, "clerk", "order:*")
    account = {"userName": "job", "nickName": "Job", "kind": "service", "roleIds": [clerk.role_id]}
    job = (await house.data("POST", "/api/user", account))["id"]
    scoped = {"name": "key", "scopes": ["order:list"]}
    key = (await house.data("POST", f"/api/user/{job}/keys", scoped))["key"]
    for token, permissions, codes in (
        (clerk.token, ["order:*"], ["order:*", "order:delete", "order:list"]),
        (key, ["order:list"], ["order:list"]),
    ):
        mine = (await house.ask("GET", "/api/menu/mine", token=token)).json["data"]
        info = (await house.ask("GET", "/api/user/info", token=token)).json["data"]
        assert (mine["permissions"], info["permissions"], mine["codes"]) == (permissions, permissions, codes)


async def test_what_is_shown_of_a_page_is_stored_and_kept_by_a_put_without_it(house: Inside) -> None:
    menu = await created(house, "Help", **SHOWN)
    assert {name: menu[name] for name in SHOWN} == SHOWN
    values = ("title", "parentId", "name", "path", "component", "icon", "authMark", "sort", "enabled")

    put = await house.data("PUT", f"/api/menu/{menu['id']}", {name: menu[name] for name in values})
    cleared = await house.data("PATCH", f"/api/menu/{menu['id']}", {"meta": None, "badge": None})

    assert {name: put[name] for name in SHOWN} == SHOWN
    assert (cleared["meta"], cleared["badge"], cleared["link"]) == (None, None, SHOWN["link"])
    (row,) = await query(house, "SELECT meta IS NULL FROM sys.menu WHERE id = %s", menu["id"])
    assert row[0] is True


@with_each(
    ("name", "value"),
    [
        *(("redirect", path) for path in [*BAD_PATHS, "https://example.org/", "/" + "a" * 256]),
        *(("link", link) for link in [*BAD_LINKS, "/" + "a" * 1024]),
        ("badge", "x" * 33),
        ("badge", "two\nlines"),
        ("hidden", None),
        ("keepAlive", "yes"),
        ("meta", []),
        ("meta", "text"),
        ("meta", {"__proto__": {"admin": True}}),
        ("meta", {"a": {"b": {"c": {"d": {}}}}}),
        ("meta", {"a": "x" * 4096}),
        ("titles", ["Seite"]),
        ("titles", {"de": 7}),
        ("titles", {"de": ""}),
        ("titles", {"de": "two\nlines"}),
        ("titles", {"de": "x" * 129}),
        ("titles", {"de_AT": "Seite"}),
        ("titles", {"": "Seite"}),
        ("titles", {"zh-CN": "a", "zh-cn": "b"}),
        ("titles", {f"de-{number}": "Seite" for number in range(65)}),
    ],
)
async def test_what_could_lead_elsewhere_or_is_too_much_is_refused_by_its_field(
    shared: Inside, name: str, value: Any
) -> None:
    body = {"menuType": "Menu", "title": "Page", "parentId": None, name: value}
    answer = await shared.ask("POST", "/api/menu", body)
    assert (answer.status, answer.json["code"]) == (422, "validation_failed")
    assert {fault["field"] for fault in answer.json["errors"]} == {name}


async def test_titles_are_in_the_language_of_the_request_else_in_that_of_the_profile(house: Inside) -> None:
    shop = await created(house, "Shop", path="/shop", titles={"zh-CN": "商店", "de": "Laden"})
    await created(house, "Orders", shop["id"], titles={"zh": "订单"})
    reader = await member(house, "reader", "system:role:list")
    for menu in ("Shop", "Orders"):
        await query(
            house,
            "INSERT INTO sys.role_menu SELECT %s, id FROM sys.menu WHERE title = %s",
            reader.role_id,
            menu,
        )

    async def titles(search: str = "") -> list[str]:
        mine = (await reader.ask("GET", f"/api/menu/mine{search}")).json["data"]["menus"]
        (above,) = (menu for menu in mine if menu["id"] == shop["id"])
        return [above["title"], above["children"][0]["title"]]

    assert await titles() == ["Shop", "Orders"]
    assert await titles("?language=zh-CN") == ["商店", "订单"]
    assert await titles("?language=ZH-hant") == ["Shop", "订单"]
    assert await titles("?language=de-AT") == ["Laden", "Orders"]
    assert (await reader.ask("GET", "/api/menu/mine?language=d")).fields == ["language"]
    await reader.ask("PUT", "/api/user/profile", {"language": "zh-CN"})
    assert await titles() == ["商店", "订单"]
    assert await titles("?language=en") == ["Shop", "Orders"]

    stored = await house.data("GET", f"/api/menu/{shop['id']}")  # to be edited
    assert (stored["title"], stored["titles"]) == ("Shop", {"zh-CN": "商店", "de": "Laden"})
    patched = await house.data("PATCH", f"/api/menu/{shop['id']}", {"titles": {"de": "Laden"}})
    assert patched["titles"] == {"de": "Laden"}
    assert (await house.data("PATCH", f"/api/menu/{shop['id']}", {"titles": None}))["titles"] is None


async def test_a_button_has_titles_and_a_put_of_an_older_client_keeps_them(house: Inside) -> None:
    button = await created(house, "B", menuType="Button", authMark="shown:yes", titles={"zh-CN": "按钮"})
    values = ("title", "parentId", "name", "path", "component", "icon", "authMark", "sort", "enabled")
    body = {name: button[name] for name in values} | {"title": "C"}
    saved = await house.data("PUT", f"/api/menu/{button['id']}", body)
    assert (saved["title"], saved["titles"]) == ("C", {"zh-CN": "按钮"})


@with_each("name", sorted(SHOWN))
async def test_a_button_is_no_page(shared: Inside, name: str) -> None:
    body = {"menuType": "Button", "title": "B", "authMark": "shown:no", "parentId": None, name: SHOWN[name]}
    answer = await shared.ask("POST", "/api/menu", body)
    assert (answer.status, answer.json["errors"][0]["field"]) == (422, name)


@pytest.mark.parametrize("link", ["/help", "/", "http://example.org", "https://[::1]:8443/a?b=@c#/d"])
async def test_links_are_taken_as_they_are(house: Inside, link: str) -> None:
    assert (await created(house, "Help", link=link))["link"] == link
