"""Users, roles, menus and resources are created, replaced and patched alike."""

from typing import Any

import pytest

from tests.support.inside import Inside

NEW: dict[str, dict[str, Any]] = {
    "user": {"userName": "alike", "nickName": "Alike", "password": "four wary herons", "roleIds": [3]},
    "role": {"roleCode": "alike", "roleName": "Alike", "description": "Old"},
    "menu": {"menuType": "Button", "title": "Alike", "authMark": "alike:list", "icon": "old"},
    "resource": {"resourceCode": "alike", "resourceName": "A", "method": "GET", "path": "/api/alike"},
}
OTHER: dict[str, dict[str, Any]] = {
    "user": {"userName": "other"},
    "role": {"roleCode": "other", "roleName": "Other"},
    "menu": {"authMark": "other:list"},
    "resource": {"resourceCode": "other", "path": "/api/other"},
}
"""What a second record must not have in common with the first one."""
WHOLE: dict[str, list[str]] = {
    "user": ["userName", "nickName", "email", "phone", "gender", "avatar", "status", "service"],
    "role": ["roleName", "description", "enabled"],
    "menu": ["title", "parentId", "name", "path", "component", "icon", "authMark", "sort", "enabled"],
    "resource": ["resourceName", "resourceCode", "method", "path", "description", "enabled"],
}
PATCH = {
    "user": {"phone": "123"},
    "role": {"description": "New"},
    "menu": {"title": "New"},
    "resource": {"description": "New"},
}
EMPTIED = {"user": "phone", "role": "description", "menu": "icon", "resource": "description"}
FIXED = {"role": {"roleCode": "other"}, "menu": {"menuType": "Menu"}}
BELOW: dict[str, list[tuple[str, str, Any]]] = {
    "user": [
        ("PUT", "/status", {"status": "disabled"}),
        ("PUT", "/password", {"newPassword": "four wary storks"}),
    ],
    "role": [("GET", "/permissions", None), ("PUT", "/permissions", {"menuIds": []})],
    "menu": [],
    "resource": [
        ("PUT", "/enabled", {"enabled": False}),
        ("GET", "/buttons", None),
        ("PUT", "/buttons", {"menuIds": []}),
    ],
}
"""Requests below the path of a record."""
STATE = ("/status", "/enabled")
"""What has the entity tag of its record."""


@pytest.fixture(scope="module", params=NEW)
def noun(request: pytest.FixtureRequest) -> str:
    """What a record is, one noun after the other."""
    return str(request.param)


@pytest.fixture(scope="module")
async def path(shared: Inside, noun: str) -> str:
    """The path of a record that the tests of a noun share."""
    answer = await shared.ask("POST", f"/api/{noun}", NEW[noun])
    assert answer.status == 201, answer.body
    return answer.header("location") or ""


def body_of(noun: str, record: Any) -> dict[str, Any]:
    """Return the body of a PUT that leaves ``record`` as it is."""
    roles = {"roleIds": [role["id"] for role in record["roles"]]} if noun == "user" else {}
    return {name: record[name] for name in WHOLE[noun]} | roles


def values_of(record: Any) -> Any:
    """Return ``record`` without what each edit changes."""
    revised = ("version", "updateTime", "policyRevision")
    return {name: value for name, value in record.items() if name not in revised}


async def test_a_post_tells_where_the_new_record_is(shared: Inside, noun: str) -> None:
    other = NEW[noun] | OTHER[noun]

    answer = await shared.ask("POST", f"/api/{noun}", other)

    where = answer.header("location")
    assert where == f"/api/{noun}/{answer.json['data']['id']}"
    reply = await shared.ask("GET", where)
    assert values_of(reply.json["data"]) == values_of(answer.json["data"])
    assert reply.header("etag") == answer.header("etag")
    await shared.data("DELETE", where)
    dry = await shared.ask("POST", f"/api/{noun}?dryRun=true", other)
    assert (dry.status, dry.header("location"), dry.header("etag")) == (200, None, None)
    same = values_of(answer.json["data"]).keys() - {"id", "bitPosition", "createTime"}
    assert {name: dry.json["data"][name] for name in same} == {
        name: answer.json["data"][name] for name in same
    }


async def test_a_put_replaces_all_values_and_is_refused_without_one_of_them(
    shared: Inside, noun: str, path: str
) -> None:
    before = await shared.data("GET", path)
    body = body_of(noun, before)

    for name in body:
        short = {key: value for key, value in body.items() if key != name}
        for query in ("", "?dryRun=true"):
            assert (await shared.ask("PUT", path + query, short)).fields == [name]
    assert values_of(await shared.data("PUT", path, body)) == values_of(before)
    changed = values_of(before) | PATCH[noun]
    assert values_of(await shared.data("PUT", path, body | PATCH[noun])) == changed
    assert values_of(await shared.data("PUT", path, body)) == values_of(before)


async def test_a_patch_is_the_put_of_the_members_that_it_has(shared: Inside, noun: str, path: str) -> None:
    before = await shared.data("GET", path)

    dry = await shared.ask("PATCH", f"{path}?dryRun=true", PATCH[noun])
    assert (dry.status, values_of(dry.json["data"])) == (200, values_of(before) | PATCH[noun])
    assert "gains" in dry.json["preview"]
    assert await shared.data("GET", path) == before
    after = await shared.data("PATCH", path, PATCH[noun])

    assert values_of(after) == values_of(before) | PATCH[noun]
    assert after["version"] == before["version"] + 1
    assert after["updateTime"] > before["updateTime"]
    assert values_of(await shared.data("PATCH", path, {})) == values_of(after)
    assert (await shared.data("PATCH", path, {EMPTIED[noun]: None}))[EMPTIED[noun]] is None


async def test_a_record_that_has_changed_since_it_was_read_is_neither_edited_nor_deleted(
    shared: Inside, noun: str
) -> None:
    path = (await shared.ask("POST", f"/api/{noun}", NEW[noun] | OTHER[noun])).header("location") or ""
    read = await shared.ask("GET", path)
    old, body = read.header("etag") or "", body_of(noun, read.json["data"])
    theirs = await shared.ask("PATCH", path, PATCH[noun], ("If-Match", old))

    late: list[tuple[str, str, Any]] = [("PUT", "", body), ("PATCH", "", PATCH[noun]), ("DELETE", "", None)]
    late += [("PUT", "?dryRun=true", body), ("PATCH", "?dryRun=true", PATCH[noun])]
    late += [request for request in BELOW[noun] if request[1] in STATE]
    for method, below, edit in late:
        answer = await shared.ask(method, path + below, edit, ("If-Match", old))
        assert (answer.status, answer.code) == (412, "precondition_failed"), (method, below)
    now = await shared.ask("GET", path)
    assert values_of(now.json["data"]) == values_of(theirs.json["data"])
    await shared.data("DELETE", path, None, ("If-Match", now.header("etag") or ""))


async def test_a_record_that_does_not_exist_is_not_found(shared: Inside, noun: str, path: str) -> None:
    body = body_of(noun, await shared.data("GET", path))

    usual = [("GET", "", None), ("PUT", "", body), ("PATCH", "", PATCH[noun]), ("DELETE", "", None)]
    for method, below, edit in [*usual, *BELOW[noun]]:
        answer = await shared.ask(method, f"/api/{noun}/999999{below}", edit)
        assert (answer.status, answer.code) == (404, "not_found"), (method, below)


@pytest.mark.parametrize("noun", FIXED, indirect=True)
async def test_what_never_changes_is_refused_in_both(shared: Inside, noun: str, path: str) -> None:
    record = await shared.data("GET", path)
    same = {name: record[name] for name in FIXED[noun]}

    for method, edit in (("PUT", body_of(noun, record)), ("PATCH", {})):
        assert (await shared.ask(method, path, edit | FIXED[noun])).fields == [*FIXED[noun]]
        assert (await shared.data(method, path, edit | same)).items() >= same.items()
