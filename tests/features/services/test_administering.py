"""Other services, their resources and openings, written through the API under rights for each service."""

from typing import Any

import pytest

from tests.support.inside import Inside
from tests.support.members import Member, ids_of, member
from tests.support.without import is_served

READ = {
    "resourceName": "Read an order",
    "resourceCode": "orders.read",
    "method": "GET",
    "path": "/orders/{id}",
    "service": "orders",
}
ROUTE = "method=GET&path=/orders/7&service=orders"


async def explained(running: Inside, **question: Any) -> tuple[bool, str, list[str]]:
    asked = {"method": "GET", "path": "/orders/7", "service": "orders"} | question
    explanation = await running.data("POST", "/api/policy/explain", asked)
    assert explanation["endpoint"] is None
    return explanation["allowed"], explanation["resource"]["object"], explanation["resource"]["lines"]


async def button(house: Inside, code: str) -> int:
    made = await house.data(
        "POST", "/api/menu", {"menuType": "Button", "title": code, "authMark": code, "parentId": None}
    )
    number: int = made["id"]
    return number


@pytest.mark.parametrize("name", ["system", "service", "portcullis"])
async def test_no_service_is_named_like_our_own_codes_begin(house: Inside, name: str) -> None:
    refused = await house.ask("POST", "/api/service", {"name": name})
    assert (refused.status, refused.json["errors"][0]["field"]) == (422, "name")


@pytest.mark.parametrize("name", ["system", "service"])
async def test_no_account_is_bound_to_such_a_name(house: Inside, name: str) -> None:
    account = {"userName": "robot", "nickName": "R", "kind": "service"}
    refused = [await house.ask("POST", "/api/user", account | {"service": name})]
    made = await house.data("POST", "/api/user", account | {"service": "orders"})
    refused.append(await house.ask("PATCH", f"/api/user/{made['id']}", {"service": name}))
    assert [(answer.status, answer.json["errors"][0]["field"]) for answer in refused] == [
        (422, "service")
    ] * 2
    rows = [{"userName": user_name, "nickName": "R", "service": name} for user_name in ("new", "robot")]
    rows[0]["kind"] = "service"
    if is_served("POST /api/user/import"):
        imported = await house.ask("POST", "/api/user/import", {"users": rows})
        assert imported.status == 422
        assert [error["field"].rpartition(".")[2] for error in imported.json["errors"]] == ["service"] * 2
    assert (await house.data("GET", f"/api/user/{made['id']}"))["service"] == "orders"


async def test_a_service_is_closed_until_buttons_are_bound_or_openings_made(house: Inside) -> None:
    registered = await house.data("POST", "/api/service", {"name": "orders"})
    made = await house.data("POST", "/api/resource", READ)
    assert (made["service"], made["path"]) == ("orders", "/orders/{id}")
    name = "orders GET /orders/{id}"
    assert await explained(house, permissions=["*"]) == (False, name, [f"p, resource, {name}, @nobody"])

    code = await button(house, "orders:order:read")
    await house.data("PUT", f"/api/resource/{made['id']}/buttons", {"menuIds": [code]})
    holder = {"permissions": ["orders:order:read"]}
    assert (await explained(house, **holder))[0]
    assert not (await explained(house, permissions=["orders:order:list"]))[0]
    assert (await explained(house, path="/none", **holder))[:2] == (False, "orders @unregistered")
    assert (await explained(house, service="bills", **holder))[:2] == (False, "@unknown")

    opening = await house.data("POST", "/api/opening", {"service": "orders", "code": "@login"})
    assert opening["object"] == "orders @unregistered"
    assert (await explained(house, path="/none", permissions=[]))[0]
    assert not (await explained(house, path="/none"))[0]
    public = {"service": "orders", "resourceId": made["id"], "code": "@anyone"}
    public_id = (await house.data("POST", "/api/opening", public))["id"]
    assert (await explained(house))[0]
    assert (await house.ask("POST", "/api/opening", public)).status == 409
    assert [entry["object"] for entry in (await house.data("GET", "/api/opening/list"))["items"]] == [
        "orders @unregistered",
        name,
    ]
    assert (await house.data("GET", f"/api/opening/{public_id}"))["code"] == "@anyone"
    shown = await house.data("GET", "/api/policy/openings?size=200")
    assert {name, "orders @unregistered"} <= {entry["object"] for entry in shown["items"]}
    lenient = await house.data("PATCH", f"/api/service/{registered['id']}", {"allowPreflight": True})
    shown = await house.data("GET", "/api/policy/openings?size=200")
    (preflight,) = [entry for entry in shown["items"] if entry["object"] == "orders @preflight"]
    assert (lenient["allowPreflight"], preflight["needs"]) == (True, "nothing")
    assert preflight["resource"]["line"] == "p, resource, @preflight, @anyone"

    await house.data("DELETE", f"/api/opening/{public_id}")
    assert not (await explained(house))[0]
    assert (await house.ask("DELETE", f"/api/service/{registered['id']}")).status == 409


async def test_questions_of_reviewers_answer_about_other_services(house: Inside) -> None:
    await house.data("POST", "/api/service", {"name": "orders"})
    made = await house.data("POST", "/api/resource", READ)
    code = await button(house, "orders:order:read")
    before = (await house.data("GET", "/api/policy"))["revision"]
    role = await house.data("POST", "/api/role", {"roleName": "Clerk", "roleCode": "clerk"})
    await house.data("PUT", f"/api/role/{role['id']}/permissions", {"menuIds": [code]})

    bind = f"/api/resource/{made['id']}/buttons"
    dry = await house.preview("PUT", f"{bind}", {"menuIds": [code]})
    gains = {gain["roleCode"]: gain["access"] for gain in dry["gains"]}
    assert gains["clerk"] == ["orders GET /orders/{id}"]
    bound = await house.data("PUT", bind, {"menuIds": [code]})

    who = await house.data("GET", f"/api/policy/who?{ROUTE}")
    assert {"clerk"} <= {entry["roleCode"] for entry in who["items"]}
    assert {entry["endpoint"]["line"] for entry in who["items"]} == {None}
    assert (who["endpoint"], who["anyLogin"], who["visitors"]) == (None, False, False)
    what = await house.data("GET", "/api/policy/what?roleCode=clerk&size=200")
    assert "orders GET /orders/{id}" in {access["object"] for access in what["items"]}
    pages = [await house.data("GET", f"/api/policy/matrix?size=200&page={page}") for page in (1, 2)]
    rows = {row["object"]: row for page in pages for row in page["items"]}
    assert "clerk" in {entry["roleCode"] for entry in rows["orders GET /orders/{id}"]["roles"]}
    diff = f"/api/policy/diff?from={before}&to={bound['policyRevision']}&access=true"
    assert "orders GET /orders/{id}" in str(await house.data("GET", diff))
    past = {"permissions": ["orders:order:read"], "revision": before}
    assert not (await explained(house, **past))[0]


@pytest.fixture
async def orders_admin(house: Inside) -> Member:
    """Somebody who may administer the resources of ``orders`` and no others."""
    for name in ("orders", "bills"):
        await house.data("POST", "/api/service", {"name": name})
    await button(house, "service:orders:*")
    await button(house, "orders:order:read")
    return await member(house, "keeper", "system:service:resources", "service:orders:*", "orders:order:read")


async def test_an_administrator_of_one_service_administers_no_other(
    house: Inside, orders_admin: Member
) -> None:
    mine = await orders_admin.ask("POST", "/api/resource", READ)
    assert mine.status == 201
    number = mine.json["data"]["id"]
    others = READ | {"service": "bills", "resourceCode": "bills"}
    own = READ | {"service": "portcullis", "resourceCode": "own", "path": "/api/x/{id}"}
    foreign = (await house.data("POST", "/api/resource", others))["id"]
    for requested in (others | {"path": "/b"}, own):
        refused = await orders_admin.ask("POST", "/api/resource", requested | {"resourceCode": "more"})
        assert (refused.status, refused.json["layer"]) == (403, "service")
        assert f"service:{requested['service']}:create" in refused.json["required"] or requested is own
    attempts: list[tuple[str, str, Any]] = [
        ("PUT", f"/api/resource/{foreign}/enabled", {"enabled": False}),
        ("PUT", f"/api/resource/{foreign}/buttons", {"menuIds": []}),
        ("PATCH", f"/api/resource/{foreign}", {"description": "x"}),
        ("DELETE", f"/api/resource/{foreign}", None),
        ("GET", f"/api/resource/{foreign}", None),
        ("GET", f"/api/resource/{foreign}/buttons", None),
        ("POST", "/api/opening", {"service": "bills", "code": "@anyone"}),
        ("DELETE", "/api/resource/1", None),
        ("GET", "/api/resource/1", None),
    ]
    for method, path, body in attempts:
        assert (await orders_admin.ask(method, path, body)).status == 403, (method, path)
    listed = (await orders_admin.ask("GET", "/api/resource/list")).json["data"]
    assert {resource["service"] for resource in listed["items"]} == {"orders"}
    services = (await orders_admin.ask("GET", "/api/service/list")).json["data"]
    assert [service["name"] for service in services["items"]] == ["orders"]

    (read,) = await ids_of(house, "orders:order:read")
    (users,) = await ids_of(house, "system:user:list")
    bind = f"/api/resource/{number}/buttons"
    assert (await orders_admin.ask("PUT", bind, {"menuIds": [read]})).status == 200
    assert (await orders_admin.ask("PUT", bind, {"menuIds": [read, users]})).status == 403
    opening = await orders_admin.ask("POST", "/api/opening", {"service": "orders", "code": "@login"})
    assert opening.status == 201
    assert (await orders_admin.ask("POST", "/api/service", {"name": "more"})).status == 403


@pytest.mark.usefixtures("orders_admin")
async def test_a_button_shows_the_resources_that_the_caller_may_list_or_bind(house: Inside) -> None:
    made = {}
    for service in ("orders", "bills"):
        resource = READ | {"service": service, "resourceCode": service}
        made[service] = (await house.data("POST", "/api/resource", resource))["id"]
    (read,) = await ids_of(house, "orders:order:read")
    path = f"/api/menu/{read}/resources"
    await house.data("PUT", path, {"resourceIds": list(made.values())})
    keepers = ("system:service:resources", "service:orders:*", "system:menu:list")
    for name, codes, expected in (
        ("reader", ["system:menu:list"], set()),
        ("sharer", keepers, {"orders"}),
        ("lister", ["system:menu:list", "system:resource:list"], set(made)),
        ("binder", ["system:menu:list", "system:resource:bind"], set(made)),
    ):
        answer = await (await member(house, name, *codes)).ask("GET", path)
        shown = answer.json["data"]
        assert {entry["service"] for entry in shown["resources"]} == expected
        assert set(shown["resourceIds"]) == {made[service] for service in expected}
        assert answer.header("etag") == (await house.ask("GET", path)).header("etag")


async def test_nobody_opens_a_resource_that_they_do_not_reach_or_moves_an_opening_without_that_right(
    house: Inside, orders_admin: Member
) -> None:
    made = (await house.data("POST", "/api/resource", READ))["id"]
    (users,) = await ids_of(house, "system:user:list")
    await house.data("PUT", f"/api/resource/{made}/buttons", {"menuIds": [users]})
    open_it = {"service": "orders", "resourceId": made, "code": "@anyone"}
    refused = await orders_admin.ask("POST", "/api/opening", open_it)
    assert (refused.status, refused.json["required"]) == (403, ["system:user:list"])
    taking = await orders_admin.ask(
        "POST", "/api/resource", READ | {"path": "/orders/7", "resourceCode": "seven"}
    )
    assert taking.status == 403

    await house.data("PUT", f"/api/resource/{made}/buttons", {"menuIds": []})
    await house.data("POST", "/api/opening", open_it)
    editor = await member(house, "editor", "system:resource:update", "system:resource:list")
    moved = await editor.ask("PATCH", f"/api/resource/{made}", {"path": "/secret/{id}"})
    assert (moved.status, moved.json["layer"]) == (403, "service")
    assert (await editor.ask("PATCH", f"/api/resource/{made}", {"description": "x"})).status == 200


@pytest.mark.parametrize("general", [None, "/{any}/{id}"])
async def test_nobody_opens_a_closed_resource_by_leaving_it_to_what_is_open(
    house: Inside, general: str | None
) -> None:
    registered = await house.data("POST", "/api/service", {"name": "orders"})
    path = f"/api/resource/{(await house.data('POST', '/api/resource', READ))['id']}"
    codes = ("system:resource:update", "system:resource:delete", "system:resource:list")
    editor = await member(house, "leaver", *codes, "system:service:update")
    opening: dict[str, object] = {"service": "orders", "code": "@anyone"}
    if general is not None:
        more = {"path": general, "resourceCode": "orders.any"}
        opening["resourceId"] = (await house.data("POST", "/api/resource", READ | more))["id"]
    await house.data("POST", "/api/opening", opening)
    for method, target, body in (
        ("PATCH", path, {"path": "/elsewhere"}),
        ("PATCH", path, {"enabled": False}),
        ("PUT", f"{path}/enabled", {"enabled": False}),
        ("DELETE", path, None),
        ("PATCH", f"/api/service/{registered['id']}", {"allowPreflight": True}),
    ):
        refused = await editor.ask(method, target, body)
        assert (refused.status, refused.json.get("layer")) == (403, "service"), (method, body)
    assert not (await explained(house))[0]
    assert (await editor.ask("PATCH", path, {"description": "x"})).status == 200
    await house.data("DELETE", path)


async def test_what_a_router_takes_for_one_path_is_registered_once(house: Inside) -> None:
    shop = await house.data("POST", "/api/service", {"name": "shop", "ignoreCase": True})
    items = READ | {"service": "shop", "path": "/Items/{id}", "resourceCode": "items"}
    await house.data("POST", "/api/resource", items)
    again = await house.ask("POST", "/api/resource", items | {"path": "/items/{x}", "resourceCode": "i2"})
    assert (again.status, again.json["field"]) == (409, "path")
    slash = items | {"path": "/items/{x}/", "resourceCode": "i3"}
    await house.data("POST", "/api/resource", slash)
    both = await house.ask("PATCH", f"/api/service/{shop['id']}", {"ignoreTrailingSlash": True})
    assert (both.status, both.json["rule"]) == (409, "unique")
    for resource_id in both.json["resourceIds"]:
        await house.data("PUT", f"/api/resource/{resource_id}/enabled", {"enabled": False})
        disabled = await house.ask("PATCH", f"/api/service/{shop['id']}", {"ignoreTrailingSlash": True})
        assert (disabled.status, disabled.json["resourceIds"]) == (409, both.json["resourceIds"])
    assert "GET /Items/{id}" in disabled.json["detail"]
    await house.data("DELETE", f"/api/resource/{resource_id}")
    await house.data("PATCH", f"/api/service/{shop['id']}", {"ignoreTrailingSlash": True})

    own = await house.ask("POST", "/api/resource", READ | {"service": "portcullis", "path": "/api/x/"})
    assert own.status == 422
    assert (await house.ask("POST", "/api/resource", READ | {"service": "none"})).status == 422
    assert (await house.ask("POST", "/api/service", {"name": "portcullis"})).status == 422
    assert (await house.ask("POST", "/api/service", {"name": "shop"})).status == 409


async def test_a_restore_brings_services_resources_and_openings_back(house: Inside) -> None:
    empty = (await house.data("GET", "/api/policy"))["revision"]
    shop = await house.data(
        "POST", "/api/service", {"name": "shop", "ignoreCase": True, "description": "Shop"}
    )
    made = await house.data(
        "POST", "/api/resource", READ | {"service": "shop", "path": "/items/", "resourceCode": "items"}
    )
    await house.data("POST", "/api/opening", {"service": "shop", "code": "@login"})
    full = await house.data(
        "POST", "/api/opening", {"service": "shop", "resourceId": made["id"], "code": "@anyone"}
    )
    await house.data("PATCH", f"/api/service/{shop['id']}", {"ignoreCase": False, "allowPreflight": True})

    gone = await house.data("POST", f"/api/policy/revisions/{empty}/restore")
    assert (await house.data("GET", "/api/service/list"))["items"] == []
    requests = {edit["request"] for edit in gone["edits"]}
    assert {f"DELETE /api/service/{shop['id']}", f"DELETE /api/resource/{made['id']}"} <= requests

    await house.data("POST", f"/api/policy/revisions/{full['policyRevision']}/restore")
    (restored,) = (await house.data("GET", "/api/service/list"))["items"]
    assert (restored["ignoreCase"], restored["allowPreflight"], restored["description"]) == (
        True,
        False,
        "Shop",
    )
    opened = (await house.data("GET", "/api/opening/list"))["items"]
    assert sorted((opening["object"], opening["code"]) for opening in opened) == [
        ("shop @unregistered", "@login"),
        ("shop GET /items/", "@anyone"),
    ]
