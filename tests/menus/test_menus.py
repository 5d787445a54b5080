import asyncio
import random
from collections import Counter
from typing import Any

from service.administration.menu_edits import MAX_DEPTH
from tests.support.inside import Inside
from tests.support.members import ids_of, member, query

PAGE = {"menuType": "Menu", "title": "Reports", "parentId": None}
BUTTON = {"menuType": "Button", "title": "Read reports", "authMark": "report:list", "parentId": None}


async def created(service: Inside, body: dict[str, Any], **changes: Any) -> Any:
    return await service.data("POST", "/api/menu", body | changes)


def edit_of(menu: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """Return what leaves a menu as it is, but for ``changes``."""
    values = ("title", "parentId", "name", "path", "component", "icon", "authMark", "sort", "enabled")
    kept = ("menuType", *values)
    return {name: menu[name] for name in kept} | changes


async def newest(service: Inside) -> int:
    (row,) = await query(service, "SELECT max(revision) FROM sys.policy_revision")
    return int(row[0])


async def test_a_new_menu_is_answered_whole(shared: Inside) -> None:
    before = await newest(shared)
    fields = {"name": "report", "path": "/report", "component": "report/index", "icon": "x", "sort": 3}

    answer = await shared.ask("POST", "/api/menu", PAGE | fields)

    data = answer.json["data"]
    assert (answer.status, answer.header("etag")) == (201, '"1"')
    assert data.pop("policyRevision") == before  # no line and no bit comes from a Menu
    assert data == PAGE | fields | {
        "id": data["id"],
        "authMark": None,
        "bitPosition": None,
        "enabled": True,
        "hidden": False,
        "keepAlive": False,
        **dict.fromkeys(("redirect", "link", "badge", "meta", "titles")),
        "version": 1,
        "createTime": data["updateTime"],
        "updateTime": data["updateTime"],
        "updatedBy": "admin",
    }
    assert await shared.data("GET", f"/api/menu/{data['id']}") == data


async def test_a_new_button_is_published_with_a_bit_of_its_own(shared: Inside) -> None:
    above, before = await created(shared, PAGE), await newest(shared)

    first = await shared.ask("POST", "/api/menu", BUTTON | {"parentId": above["id"]})
    second = await created(shared, BUTTON, authMark="report:edit")

    data = first.json["data"]
    assert (data["policyRevision"], first.header("x-policy-revision")) == (before + 1, str(before + 1))
    assert second["bitPosition"] == data["bitPosition"] + 1
    assert (data["parentId"], data["authMark"], data["sort"]) == (above["id"], "report:list", 0)


async def test_the_rules_of_a_patch_are_those_of_the_menu_that_it_makes(shared: Inside) -> None:
    page, button = await created(shared, PAGE), await created(shared, BUTTON, authMark="report:patched")

    for menu, change in (
        (page, {"authMark": "report:x"}),
        (button, {"path": "/x"}),
        (button, {"authMark": None}),
    ):
        answer = await shared.ask("PATCH", f"/api/menu/{menu['id']}", change)
        assert (answer.status, answer.fields) == (422, [*change])
    for change in ({"title": None}, {"sort": None}, {"enabled": None}):
        assert (await shared.ask("PATCH", f"/api/menu/{page['id']}", change)).fields == [*change]


async def test_a_renamed_code_gets_a_new_bit_and_no_bit_comes_back(shared: Inside) -> None:
    made = await created(shared, BUTTON, authMark="renamed:list")
    path = f"/api/menu/{made['id']}"

    renamed = await shared.data("PUT", path, edit_of(made, authMark="renamed:read"))
    again = await shared.data("PUT", path, edit_of(made))
    same = await shared.data("PUT", path, edit_of(made, title="Other"))
    await shared.data("DELETE", path)
    anew = await created(shared, BUTTON, authMark="renamed:list")

    bits = [menu["bitPosition"] for menu in (made, renamed, again, anew)]
    assert bits == sorted(set(bits))
    assert same["bitPosition"] == again["bitPosition"]
    assert renamed["policyRevision"] == made["policyRevision"] + 1
    assert same["policyRevision"] == again["policyRevision"]


async def test_a_code_belongs_to_one_button(shared: Inside) -> None:
    taken = BUTTON | {"authMark": "taken:list"}
    made = await created(shared, taken)
    other = await created(shared, BUTTON, authMark="taken:edit")

    for method, path, body in (
        ("POST", "/api/menu", taken),
        ("PUT", f"/api/menu/{other['id']}", edit_of(other, authMark="taken:list")),
    ):
        answer = await shared.ask(method, path, body)
        assert (answer.status, answer.code) == (409, "conflict")
        assert (answer.json["field"], answer.json["menuId"]) == ("authMark", made["id"])


CODES = ["", "A:b", "a::b", ":a", "a:", "a b", "sys*", "@login", "a\n", "a" * 129, "ä", "a,b"]
ADDRESSES = ["javascript:alert(1)", "data:x", "//evil.example", "/\\evil", "/a b", "\t", "", "ftp://x"]
REFUSED: list[tuple[dict[str, Any], str, list[Any]]] = [
    (BUTTON, "authMark", [None, *CODES]),
    (BUTTON, "path", ["/x"]),
    (BUTTON, "component", ["x"]),
    (PAGE, "authMark", ["report:list"]),
    (PAGE, "path", ADDRESSES),
    (PAGE, "title", ["", "x\ny", "x\0", "x" * 129]),
    (PAGE, "menuType", ["Directory"]),
    (PAGE, "parentId", [10**9, 0]),
    (PAGE, "sort", [2**31, "1"]),
    (PAGE, "enabled", [None]),
    *((PAGE, name, [7]) for name in ("id", "bitPosition", "version")),
]


async def test_a_value_that_breaks_a_rule_is_refused_by_its_field(shared: Inside) -> None:
    for body, field, values in REFUSED:
        for value in values:
            answer = await shared.ask("POST", "/api/menu", body | {field: value})
            assert (answer.status, answer.fields) == (422, [field]), value


async def test_paths_of_pages_are_taken_as_they_are(shared: Inside) -> None:
    for path in ("/", "/user/:id", "user", "./x?a=1#b", "https://example.org/a:b", "/a//b", "/\u00fc"):
        assert (await created(shared, PAGE, path=path))["path"] == path


async def test_nothing_stands_below_a_button_or_below_itself(shared: Inside) -> None:
    top = await created(shared, PAGE)
    middle = await created(shared, PAGE, parentId=top["id"])
    low = await created(shared, PAGE, parentId=middle["id"])
    button = await created(shared, BUTTON, authMark="tree:list", parentId=low["id"])

    for moved, below in ((top, top), (top, middle), (top, low), (middle, low), (top, button)):
        answer = await shared.ask("PUT", f"/api/menu/{moved['id']}", edit_of(moved, parentId=below["id"]))
        assert (answer.status, answer.fields) == (422, ["parentId"])
    moved = await shared.data("PUT", f"/api/menu/{low['id']}", edit_of(low, parentId=None))
    assert moved["parentId"] is None
    assert (await shared.data("PUT", f"/api/menu/{top['id']}", edit_of(top, parentId=low["id"])))[
        "version"
    ] == 2


async def test_the_tree_has_at_most_ten_levels(shared: Inside) -> None:
    parent = None
    for _ in range(10):
        parent = (await created(shared, PAGE, parentId=parent))["id"]

    answer = await shared.ask("POST", "/api/menu", BUTTON | {"parentId": parent})

    assert answer.fields == ["parentId"]


async def test_of_two_moves_at_once_that_would_make_a_cycle_one_is_refused(shared: Inside) -> None:
    for _ in range(3):
        menu, other = await created(shared, PAGE), await created(shared, PAGE)
        done = await asyncio.gather(
            shared.ask("PUT", f"/api/menu/{menu['id']}", edit_of(menu, parentId=other["id"])),
            shared.ask("PUT", f"/api/menu/{other['id']}", edit_of(other, parentId=menu["id"])),
        )
        assert sorted(answer.status for answer in done) == [200, 422]


async def test_no_crowd_of_moves_at_random_makes_a_cycle_or_a_tree_that_is_too_deep(shared: Inside) -> None:
    chance = random.Random(7)
    await query(
        shared,
        "INSERT INTO sys.menu (menu_type, title, bit_position)"
        " SELECT 'Menu', 'Crowd', NULL FROM generate_series(1, 14)",
    )
    made = (await shared.data("GET", "/api/menu/list?title=Crowd&size=200"))["items"]
    done: Counter[int] = Counter()
    for _ in range(5):
        pairs = [chance.sample(made, 2) for _ in range(6)]
        answers = await asyncio.gather(
            *(
                shared.ask("PUT", f"/api/menu/{menu['id']}", edit_of(menu, parentId=other["id"]))
                for menu, other in pairs
            )
        )
        done.update(answer.status for answer in answers)

    assert set(done) == {200, 422}
    parents = dict(await query(shared, "SELECT id, parent_id FROM sys.menu"))
    for menu_id in (menu["id"] for menu in made):
        level = 0
        at: int | None = menu_id
        while at is not None:
            level, at = level + 1, parents[at]
            assert level <= MAX_DEPTH


async def test_a_menu_in_use_is_not_deleted_and_who_uses_it_is_named(shared: Inside) -> None:
    ((page,),) = await query(shared, "SELECT id FROM sys.menu WHERE name = 'policy'")
    (reading,) = await ids_of(shared, "system:policy:read")

    below = await shared.ask("DELETE", f"/api/menu/{page}")
    used = await shared.ask("DELETE", f"/api/menu/{reading}")

    assert (below.status, used.status, used.code) == (409, 409, "conflict")
    assert below.json["children"] == [
        "Read and explain the policy",
        "Ask for decisions for other services",
        "Follow the policy beside a service",
        "Reload the policy",
        "Restore past revisions",
    ]
    assert (below.json["childCount"], below.json["roleCount"]) == (6, 3)
    assert (used.json["roles"], used.json["roleCount"]) == (["auditor"], 1)
    assert (used.json["resources"], used.json["resourceCount"]) == (["policy.read"], 1)
    assert (await shared.ask("GET", "/api/menu/list?title=policy")).json["data"]["total"] == 4


async def test_what_nothing_uses_is_deleted(shared: Inside) -> None:
    made = await created(shared, BUTTON, authMark="unused:list")

    answer = await shared.ask("DELETE", f"/api/menu/{made['id']}")

    assert answer.json["data"] == {"policyRevision": made["policyRevision"] + 1}
    assert (await shared.ask("GET", f"/api/menu/{made['id']}")).status == 404


async def test_menus_are_listed_by_page_filter_and_sort(shared: Inside) -> None:
    page = await shared.data(
        "GET", "/api/menu/list?menuType=Button&authMark=role:&title=ROLES&sort=-authMark&size=2"
    )
    assert [menu["authMark"] for menu in page["items"]] == ["system:role:update", "system:role:permission"]
    assert (page["page"], page["size"]) == (1, 2)
    below = await shared.data("GET", "/api/menu/list?parentId=1&menuType=Menu&enabled=true&size=200")
    assert {menu["parentId"] for menu in below["items"]} == {1}
    assert (await shared.data("GET", "/api/menu/list?authMark=%25"))["total"] == 0


async def test_a_list_that_can_not_be_is_refused(shared: Inside) -> None:
    for text in ("sort=bitPosition", "menuType=menu", "parentId=0", "size=0", "code=x"):
        assert (await shared.ask("GET", f"/api/menu/list?{text}")).status == 422, text


async def test_everybody_sees_the_tree_that_their_roles_give_with_the_codes_that_they_hold(
    service: Inside,
) -> None:
    clerk = await member(service, "clerk", "system:role:list", "system:user:list")
    await query(service, "UPDATE sys.menu SET enabled = false WHERE auth_mark = 'system:user:list'")

    (root,) = (await clerk.ask("GET", "/api/menu/mine")).json["data"]["menus"]
    (all_of_it,) = (await service.data("GET", "/api/menu/mine"))["menus"]

    assert (root["name"], root["buttons"]) == ("system", [])
    (page,) = root["children"]
    assert (page["name"], page["parentId"], page["buttons"]) == ("role", root["id"], ["system:role:list"])
    assert all_of_it["buttons"] == ["*", "system:*"]
    by_name = {menu["name"]: menu["buttons"] for menu in all_of_it["children"]}
    assert by_name["menu"] == [f"system:menu:{verb}" for verb in ("list", "create", "update", "delete")]
    assert "system:user:list" not in by_name["user"]
    await query(service, "UPDATE sys.role SET enabled = false WHERE id = %s", clerk.role_id)
    nothing: dict[str, list[Any]] = {"menus": [], "buttons": [], "permissions": [], "codes": []}
    assert (await clerk.ask("GET", "/api/menu/mine")).json["data"] == nothing
