from typing import Any
from urllib.parse import quote

from tests.support.inside import Inside

REPORT = {
    "resourceName": "Read a report",
    "resourceCode": "report.detail",
    "method": "GET",
    "path": "/api/report/{id}",
}


def report(name: str) -> dict[str, Any]:
    """Return a resource with a code and a path of its own."""
    return REPORT | {"resourceCode": f"{name}.detail", "path": f"/api/{name}/{{id}}"}


async def created(service: Inside, values: dict[str, Any], **changes: Any) -> Any:
    return await service.data("POST", "/api/resource", values | changes)


async def newest(service: Inside) -> int:
    (revision,) = (await service.data("GET", "/api/policy/revisions?size=1"))["items"]
    return int(revision["revision"])


async def test_a_new_resource_is_answered_whole_with_the_revision_from_which_it_is_in_force(
    shared: Inside,
) -> None:
    before = await newest(shared)
    answer = await shared.ask("POST", "/api/resource", REPORT | {"description": "Of the month"})

    data = answer.json["data"]
    assert answer.status == 201
    assert answer.header("x-policy-revision") == str(before + 1)
    assert answer.header("etag") == '"1"'
    assert data.items() >= REPORT.items()
    assert (data["description"], data["enabled"], data["version"]) == ("Of the month", True, 1)
    assert data.pop("policyRevision") == before + 1
    assert await shared.data("GET", f"/api/resource/{data['id']}") == data


async def test_a_write_is_in_force_on_its_worker_when_it_is_answered(service: Inside) -> None:
    assert (await service.ask("GET", "/api/user/info")).status == 200
    mine = await service.data("GET", "/api/resource/list?path=/api/user/info")
    number = mine["items"][0]["id"]
    closing = await service.data("GET", "/api/resource/list?path=/api/menu/list")

    await service.data("PATCH", f"/api/resource/{number}", REPORT | {"path": "/api/elsewhere"})
    await service.data("PUT", f"/api/resource/{closing['items'][0]['id']}/buttons", {"menuIds": []})
    answer = await service.ask("GET", "/api/user/info")

    assert answer.header("x-policy-revision") == "3"


async def test_enabling_and_disabling_publish_each_time(shared: Inside) -> None:
    made = await created(shared, report("enabling"))
    path = f"/api/resource/{made['id']}/enabled"

    off = await shared.data("PUT", path, {"enabled": False})
    on = await shared.data("PUT", path, {"enabled": True})

    assert (off["enabled"], off["policyRevision"]) == (False, made["policyRevision"] + 1)
    assert (on["enabled"], on["policyRevision"]) == (True, made["policyRevision"] + 2)


async def test_what_changes_no_line_keeps_the_revision(shared: Inside) -> None:
    made = await created(shared, report("same"))

    saved = await shared.data("PATCH", f"/api/resource/{made['id']}", {"description": "New"})

    assert saved["policyRevision"] == made["policyRevision"]


async def test_a_deleted_resource_is_gone_with_its_bindings(shared: Inside) -> None:
    page = await shared.data("GET", "/api/resource/list?path=/api/user/list")
    path = f"/api/resource/{page['items'][0]['id']}"

    before = await newest(shared)

    assert await shared.data("DELETE", path) == {"policyRevision": before + 1}

    for answer in (await shared.ask("GET", path), await shared.ask("GET", f"{path}/buttons")):
        assert (answer.status, answer.code) == (404, "not_found")


async def test_another_resource_for_the_same_requests_or_of_the_same_code_is_a_conflict(
    shared: Inside,
) -> None:
    values = report("taken")
    made = await created(shared, values)
    other = await created(shared, report("second"))

    for change, field in (
        ({"path": "/api/taken/{reportId}", "resourceCode": "x"}, "path"),
        ({"path": "/api/taken/{id}", "resourceCode": "x"}, "path"),
        ({"path": "/api/other"}, "resourceCode"),
    ):
        for method, path in (("POST", "/api/resource"), ("PATCH", f"/api/resource/{other['id']}")):
            answer = await shared.ask(method, path, values | change)
            assert (answer.status, answer.code) == (409, "conflict")
            assert (answer.json["field"], answer.json["resourceId"]) == (field, made["id"])
            assert str(made["id"]) in answer.json["detail"]


async def test_resources_are_listed_by_page_filter_and_sort(shared: Inside) -> None:
    for name, method in (("listed-a", "GET"), ("listed-b", "GET"), ("listed-c", "PUT")):
        made = await created(shared, report(name), method=method, resourceName=f"Name of {name}")

    page = await shared.data("GET", "/api/resource/list?method=GET&path=/api/listed&sort=-path&size=2")

    assert [resource["path"] for resource in page["items"]] == ["/api/listed-b/{id}", "/api/listed-a/{id}"]
    assert (page["page"], page["size"], page["total"]) == (1, 2, 2)
    for keyword in ("/listed-c/", made["resourceCode"], made["resourceName"].upper()):
        part = await shared.data("GET", f"/api/resource/list?keyword={quote(keyword)}")
        assert [resource["id"] for resource in part["items"]] == [made["id"]]


async def test_a_list_that_can_not_be_is_refused(shared: Inside) -> None:
    for query in ("sort=shape", "method=HEAD", "enabled=maybe", "size=0", "code=x"):
        assert (await shared.ask("GET", f"/api/resource/list?{query}")).status == 422, query
