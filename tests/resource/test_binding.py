from typing import Any

import pytest

from tests.support.cases import with_each
from tests.support.inside import Inside
from tests.support.members import query


async def resource(service: Inside, path: str) -> int:
    page = await service.data("GET", f"/api/resource/list?path={path}")
    number: int = page["items"][0]["id"]
    return number


async def menu(service: Inside, condition: str) -> int:
    ((number,),) = await query(service, f"SELECT id FROM sys.menu WHERE {condition}")
    return int(number)


async def button(service: Inside, code: str) -> int:
    return await menu(service, f"auth_mark = '{code}'")


async def test_bindings_are_read_from_both_sides(shared: Inside) -> None:
    listing, creating = await resource(shared, "/api/role/list"), await button(shared, "system:user:create")

    of_resource = await shared.data("GET", f"/api/resource/{listing}/buttons")
    of_button = await shared.data("GET", f"/api/menu/{creating}/resources")

    assert creating in of_resource["menuIds"]
    assert [entry["id"] for entry in of_resource["buttons"]] == of_resource["menuIds"]
    shown = {entry["authMark"]: entry["enabled"] for entry in of_resource["buttons"]}
    assert shown == {"system:role:list": True, "system:user:create": True, "system:user:update": True}
    assert {entry["path"] for entry in of_button["resources"]} == {"/api/role/list", "/api/user"}
    assert [entry["id"] for entry in of_button["resources"]] == of_button["resourceIds"]


async def test_replacing_the_buttons_of_a_resource_is_in_force_when_it_is_answered(service: Inside) -> None:
    info, share = await resource(service, "/api/user/info"), await button(service, "system:file:share")

    saved = await service.ask("PUT", f"/api/resource/{info}/buttons", {"menuIds": [share, share]})

    assert saved.json["data"]["menuIds"] == [share]
    assert saved.json["data"]["policyRevision"] == 2
    assert saved.header("x-policy-revision") == "2"
    assert await service.data("GET", f"/api/menu/{share}/resources") == {
        "resourceIds": [info],
        "resources": [
            {
                "id": info,
                "resourceName": "Own account",
                "resourceCode": "user.info",
                "method": "GET",
                "service": "portcullis",
                "path": "/api/user/info",
                "enabled": True,
            }
        ],
    }


async def test_the_buttons_of_a_resource_are_named_by_codes_as_well(house: Inside) -> None:
    info, share = await resource(house, "/api/user/info"), await button(house, "system:file:share")
    path = f"/api/resource/{info}/buttons"

    for body in (
        {"codes": ["system:file:share"]},
        {"menuIds": [share], "codes": ["system:file:share"]},
    ):
        saved = await house.data("PUT", path, body)
        assert (saved["menuIds"], saved["codes"]) == ([share], ["system:file:share"])
    read = await house.data("GET", path)
    assert await house.data(
        "PUT", path, {name: read[name] for name in ("menuIds", "codes")}
    )  # as it was read


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        ({}, ["menuIds"]),
        ({"codes": ["system:file:share", "no:button"]}, ["codes[1]"]),
        ({"menuIds": [], "codes": ["system:file:share"]}, ["codes"]),
    ],
    ids=["neither", "no such code", "different ones"],
)
async def test_codes_that_name_no_buttons_or_others_than_the_ids_are_refused(
    shared: Inside, body: Any, fields: list[str]
) -> None:
    listing = await resource(shared, "/api/role/list")
    answer = await shared.ask("PUT", f"/api/resource/{listing}/buttons", body)
    assert (answer.status, answer.fields) == (422, fields)


async def test_replacing_the_resources_of_a_button_leaves_those_of_other_buttons(service: Inside) -> None:
    creating = await button(service, "system:user:create")
    info, listing = await resource(service, "/api/user/info"), await resource(service, "/api/role/list")

    saved = await service.data("PUT", f"/api/menu/{creating}/resources", {"resourceIds": [info]})

    assert (saved["resourceIds"], saved["policyRevision"]) == ([info], 2)
    left = await service.data("GET", f"/api/resource/{listing}/buttons")
    assert {entry["authMark"] for entry in left["buttons"]} == {"system:role:list", "system:user:update"}


@with_each(
    ("path", "field"),
    [("/api/resource/{id}/buttons", "menuIds"), ("/api/menu/{id}/resources", "resourceIds")],
)
@with_each("ids", [[0], [-1], ["1"], [1.5], None, 1, [2**63]])
async def test_what_is_no_list_of_ids_is_refused_by_its_field(
    shared: Inside, path: str, field: str, ids: Any
) -> None:
    answer = await shared.ask("PUT", path.format(id=1), {field: ids})

    assert answer.status == 422
    assert answer.fields[0].startswith(field)


async def test_one_bad_id_leaves_all_bindings_as_they_were(shared: Inside) -> None:
    listing = await resource(shared, "/api/role/list")
    page, share = await menu(shared, "name = 'role'"), await button(shared, "system:file:share")
    before = await shared.data("GET", f"/api/resource/{listing}/buttons")

    answer = await shared.ask("PUT", f"/api/resource/{listing}/buttons", {"menuIds": [share, page, 10**9]})

    assert answer.fields == ["menuIds[1]", "menuIds[2]"]
    assert await shared.data("GET", f"/api/resource/{listing}/buttons") == before


async def test_a_menu_that_is_no_button_has_no_resources(shared: Inside) -> None:
    page = await menu(shared, "name = 'role'")

    for answer in (
        await shared.ask("GET", f"/api/menu/{page}/resources"),
        await shared.ask("PUT", f"/api/menu/{page}/resources", {"resourceIds": []}),
    ):
        assert answer.fields == ["id"]
    assert (await shared.ask("GET", "/api/menu/999999/resources")).status == 404


async def test_bindings_that_somebody_else_has_changed_are_not_overwritten(shared: Inside) -> None:
    listing, share = await resource(shared, "/api/role/list"), await button(shared, "system:file:share")
    mine, theirs = f"/api/resource/{listing}/buttons", f"/api/menu/{share}/resources"
    seen = {path: (await shared.ask("GET", path)).header("etag") or "" for path in (mine, theirs)}
    saved = await shared.ask("PUT", theirs, {"resourceIds": [listing]}, ("If-Match", seen[theirs]))
    assert saved.status == 200

    late = await shared.ask("PUT", mine, {"menuIds": []}, ("If-Match", seen[mine]))
    again = await shared.ask("PUT", theirs, {"resourceIds": []}, ("If-Match", seen[theirs]))

    assert [(answer.status, answer.code) for answer in (late, again)] == [(412, "precondition_failed")] * 2
    now = (await shared.ask("GET", theirs)).header("etag") or ""
    assert saved.header("etag") == now
    await shared.data("PUT", theirs, {"resourceIds": []}, ("If-Match", now))


async def test_a_resource_bound_to_disabled_buttons_only_is_closed_even_to_who_holds_everything(
    service: Inside,
) -> None:
    info, share = await resource(service, "/api/user/info"), await button(service, "system:file:share")
    await query(service, "UPDATE sys.menu SET enabled = false WHERE id = %s", share)

    await service.data("PUT", f"/api/resource/{info}/buttons", {"menuIds": [share]})
    answer = await service.ask("GET", "/api/user/info")

    assert (answer.status, answer.json["layer"], answer.json["required"]) == (403, "resource", [])
    assert answer.json["decisionId"].startswith("r2-")
