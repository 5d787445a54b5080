from __future__ import annotations

from typing import Any

import pytest

from tests.support.inside import Inside

pytestmark = pytest.mark.anyio

REPORT = {
    "resourceName": "Read a report",
    "resourceCode": "report.detail",
    "method": "GET",
    "path": "/api/report/{id}",
}


async def created(service: Inside, **changes: Any) -> Any:
    return await service.data("POST", "/api/resource", REPORT | changes)


async def test_a_new_resource_is_answered_whole_with_the_revision_from_which_it_is_in_force(
    service: Inside,
) -> None:
    answer = await service.ask("POST", "/api/resource", REPORT | {"description": "Of the month"})

    data = answer.json["data"]
    assert answer.status == 201
    assert answer.header("x-policy-revision") == "2"
    assert answer.header("etag") == '"1"'
    assert data.items() >= REPORT.items()
    assert (data["description"], data["enabled"], data["version"]) == ("Of the month", True, 1)
    assert data.pop("policyRevision") == 2
    assert await service.data("GET", f"/api/resource/{data['id']}") == data


async def test_a_write_is_in_force_on_its_worker_when_it_is_answered(service: Inside) -> None:
    assert (await service.ask("GET", "/api/user/info")).status == 200
    mine = await service.data("GET", "/api/resource/list?path=/api/user/info")
    number = mine["items"][0]["id"]
    closing = await service.data("GET", "/api/resource/list?path=/api/menu/list")

    await service.data("PATCH", f"/api/resource/{number}", REPORT | {"path": "/api/elsewhere"})
    await service.data("PUT", f"/api/resource/{closing['items'][0]['id']}/buttons", {"menuIds": []})
    answer = await service.ask("GET", "/api/user/info")

    assert answer.header("x-policy-revision") == "3"


async def test_a_put_replaces_all_values_of_a_resource(service: Inside) -> None:
    made = await created(service, enabled=False, description="Old")
    values = REPORT | {"method": "POST", "description": None, "enabled": False}

    saved = await service.data("PUT", f"/api/resource/{made['id']}", values)

    revised = {"version": 2, "updateTime": saved["updateTime"], "policyRevision": saved["policyRevision"]}
    assert saved == made | values | revised


async def test_a_patch_changes_what_it_has_and_null_removes(service: Inside) -> None:
    made = await created(service, enabled=False, description="Old")
    path = f"/api/resource/{made['id']}"

    saved = await service.data("PATCH", path, {"method": "POST"})
    revised = {"version": 2, "updateTime": saved["updateTime"], "policyRevision": saved["policyRevision"]}
    assert saved == made | {"method": "POST"} | revised
    assert (await service.data("PATCH", path, {"description": None}))["description"] is None
    assert (await service.ask("PATCH", path, {"path": "report"})).fields == ["path"]


async def test_enabling_and_disabling_publish_each_time(service: Inside) -> None:
    made = await created(service)
    path = f"/api/resource/{made['id']}/enabled"

    off = await service.data("PUT", path, {"enabled": False})
    on = await service.data("PUT", path, {"enabled": True})

    assert (off["enabled"], off["policyRevision"]) == (False, made["policyRevision"] + 1)
    assert (on["enabled"], on["policyRevision"]) == (True, made["policyRevision"] + 2)


async def test_what_changes_no_line_keeps_the_revision(service: Inside) -> None:
    made = await created(service)

    saved = await service.data("PATCH", f"/api/resource/{made['id']}", REPORT | {"description": "New"})

    assert saved["policyRevision"] == made["policyRevision"]


async def test_a_deleted_resource_is_gone_with_its_bindings(service: Inside) -> None:
    found = await service.data("GET", "/api/resource/list?path=/api/user/list")
    path = f"/api/resource/{found['items'][0]['id']}"

    assert await service.data("DELETE", path) == {"policyRevision": 2}

    for answer in (await service.ask("GET", path), await service.ask("GET", f"{path}/buttons")):
        assert (answer.status, answer.code) == (404, "not_found")


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "", None),
        ("PATCH", "", REPORT),
        ("DELETE", "", None),
        ("PUT", "/enabled", {"enabled": True}),
        ("GET", "/buttons", None),
        ("PUT", "/buttons", {"menuIds": []}),
    ],
)
async def test_a_resource_that_does_not_exist_is_not_found(
    shared: Inside, method: str, path: str, body: Any
) -> None:
    answer = await shared.ask(method, f"/api/resource/999999{path}", body)
    assert (answer.status, answer.code) == (404, "not_found")


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"path": "/api/report/{reportId}", "resourceCode": "x"}, "path"),
        ({"path": "/api/report/{id}", "resourceCode": "x"}, "path"),
        ({"path": "/api/other"}, "resourceCode"),
    ],
)
async def test_another_resource_for_the_same_requests_or_of_the_same_code_is_a_conflict(
    service: Inside, change: dict[str, str], field: str
) -> None:
    made = await created(service)
    other = await created(service, path="/api/second", resourceCode="second")

    for method, path in (("POST", "/api/resource"), ("PATCH", f"/api/resource/{other['id']}")):
        answer = await service.ask(method, path, REPORT | change)
        assert (answer.status, answer.code) == (409, "conflict")
        assert (answer.json["field"], answer.json["resourceId"]) == (field, made["id"])
        assert str(made["id"]) in answer.json["detail"]


async def test_an_edit_of_what_somebody_else_has_changed_is_refused(service: Inside) -> None:
    made = await created(service)
    path = f"/api/resource/{made['id']}"
    seen = (await service.ask("GET", path)).header("etag")
    assert seen is not None
    await service.data("PATCH", path, REPORT | {"resourceName": "Theirs"}, ("If-Match", seen))

    for method, target, body in (
        ("PATCH", path, REPORT),
        ("PUT", f"{path}/enabled", {"enabled": False}),
        ("DELETE", path, None),
    ):
        answer = await service.ask(method, target, body, ("If-Match", seen))
        assert (answer.status, answer.code) == (412, "precondition_failed")

    now = await service.ask("GET", path)
    assert (now.json["data"]["resourceName"], now.header("etag")) == ("Theirs", '"2"')
    await service.data("DELETE", path, None, ("If-Match", '"2"'))


async def test_resources_are_listed_by_page_filter_and_sort(service: Inside) -> None:
    await created(service)

    found = await service.data("GET", "/api/resource/list?method=GET&path=/api/re&sort=-path&size=2")

    assert [one["path"] for one in found["items"]] == ["/api/resource/list", "/api/report/{id}"]
    assert (found["page"], found["size"], found["total"]) == (1, 2, 2)


@pytest.mark.parametrize("query", ["sort=shape", "method=HEAD", "enabled=maybe", "size=0", "code=x"])
async def test_a_list_that_can_not_be_is_refused(shared: Inside, query: str) -> None:
    assert (await shared.ask("GET", f"/api/resource/list?{query}")).status == 422
