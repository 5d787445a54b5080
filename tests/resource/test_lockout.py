"""Nobody locks everybody out of what administers the policy, by whatever change."""

import re
from typing import Any

import pytest

from tests.resource.test_binding import button, resource
from tests.support.inside import Inside
from tests.web.driver import Answer

BINDING = "/api/resource/{id}/buttons"


def body(method: str, path: str) -> dict[str, Any]:
    code = re.sub(r"[^a-z0-9]+", ".", f"{method} {path}".lower())
    return {"resourceName": "Closed", "resourceCode": f"closed.{code}", "method": method, "path": path}


async def new_button(service: Inside, code: str, *, enabled: bool) -> int:
    fields = {"menuType": "Button", "title": code, "authMark": code, "enabled": enabled}
    number: int = (await service.data("POST", "/api/menu", fields))["id"]
    return number


@pytest.fixture(scope="module")
async def off(shared: Inside) -> int:
    """The id of a disabled Button."""
    return await new_button(shared, "x:off", enabled=False)


async def bind(service: Inside, resource_id: int, *menu_ids: int) -> Answer:
    return await service.ask("PUT", f"/api/resource/{resource_id}/buttons", {"menuIds": list(menu_ids)})


def assert_refused(answer: Answer, *names: str) -> None:
    assert (answer.status, answer.json["code"]) == (409, "conflict"), answer.body
    assert answer.json["lockedOut"] == list(names)


async def test_binding_the_bindings_to_a_disabled_button_is_refused_and_nothing_is_saved(
    shared: Inside, off: int
) -> None:
    made = await shared.data("POST", "/api/resource", body("PUT", BINDING))
    before = await shared.data("GET", "/api/policy")

    assert_refused(await bind(shared, made["id"], off), f"PUT {BINDING}")

    assert (await shared.data("GET", f"/api/resource/{made['id']}/buttons"))["menuIds"] == []
    assert (await shared.data("GET", "/api/policy"))["revision"] == before["revision"]


async def test_disabling_the_one_button_of_such_a_resource_is_refused(shared: Inside) -> None:
    bound = await new_button(shared, "x:on", enabled=True)
    made = await shared.data("POST", "/api/resource", body("PUT", "/api/menu/{id}"))
    assert (await bind(shared, made["id"], bound)).status == 200

    edit = {"title": "x:on", "authMark": "x:on", "parentId": None, "enabled": False}
    assert_refused(await shared.ask("PATCH", f"/api/menu/{bound}", edit), "PUT /api/menu/{id}")


async def test_enabling_or_moving_a_closed_resource_to_such_a_path_is_refused(
    shared: Inside, off: int
) -> None:
    made = await shared.data("POST", "/api/resource", body("GET", "/api/else"))
    assert (await bind(shared, made["id"], off)).status == 200

    moved = await shared.ask("PATCH", f"/api/resource/{made['id']}", body("POST", "/api/policy/reload"))

    assert_refused(moved, "POST /api/policy/reload")


async def test_a_resource_of_one_request_alone_is_refused_too(shared: Inside, off: int) -> None:
    listing = await resource(shared, "/api/role/list")
    made = await shared.data("POST", "/api/resource", body("PUT", f"/api/resource/{listing}/enabled"))

    assert_refused(await bind(shared, made["id"], off), f"PUT /api/resource/{listing}/enabled")


async def test_other_endpoints_may_be_closed_to_everybody(shared: Inside, off: int) -> None:
    info = await resource(shared, "/api/user/info")

    assert (await bind(shared, info, off)).status == 200
    assert (await shared.ask("GET", "/api/user/info")).status == 403


async def test_an_administrating_resource_may_be_bound_to_a_button_that_nobody_but_the_top_holds(
    shared: Inside,
) -> None:
    made = await shared.data("POST", "/api/resource", body("PUT", "/api/menu/{id}/resources"))

    assert (await bind(shared, made["id"], await button(shared, "*"))).status == 200
    assert (await bind(shared, made["id"], await button(shared, "system:resource:bind"))).status == 200
