"""What a caller may call: as requests are decided, through both layers, whatever has changed."""

import re

from tests.support.inside import Inside
from tests.support.members import Member, ids_of, member

PATH = "/api/user/operations"
NOWHERE = "9007199254740991"


async def listed(user: Member) -> set[str]:
    answer = await user.ask("GET", PATH)
    assert answer.status == 200, answer.body
    data = answer.json["data"]
    assert str(data["revision"]) == answer.header("x-policy-revision")
    return set(data["operations"])


async def readable(house: Inside) -> set[str]:
    """Return the documented operations that only read, and need no other parameter than those of the path."""
    document = (await house.as_anonymous("GET", "/docs/openapi.json")).json
    return {
        f"GET {path}"
        for path, methods in document["paths"].items()
        if path.startswith("/api/") and "get" in methods
    }


async def test_what_is_listed_passes_and_what_is_not_is_denied(house: Inside) -> None:
    clerk = await member(house, "clerk", "system:role:list", "system:file:share")
    own = await listed(clerk)
    assert {"GET /api/role/list", "GET /api/user/info", "POST /api/auth/login", f"GET {PATH}"} <= own
    assert "PUT /api/user/{id}" not in own
    asked = sorted(await readable(house))
    assert len(asked) > 30
    for operation in asked:
        path = re.sub(r"\{\w+\}", NOWHERE, operation.removeprefix("GET "))
        answer = await clerk.ask("GET", path)
        assert (answer.status == 403) == (operation not in own), operation


async def test_paths_are_those_of_the_document(house: Inside) -> None:
    root = await house.data("GET", PATH)
    document = (await house.as_anonymous("GET", "/docs/openapi.json")).json
    documented = {
        f"{method.upper()} {path}"
        for path, methods in document["paths"].items()
        if path.startswith(("/api/", "/access/", "/oauth/", "/scim/"))
        for method in methods
    }
    assert set(root["operations"]) == documented


async def test_binding_a_resource_closes_an_operation_at_once(house: Inside) -> None:
    clerk = await member(house, "clerk")
    (button,) = await ids_of(house, "system:file:share")
    about = {"resourceCode": "menu.mine", "resourceName": "Own menus"}
    made = await house.data("POST", "/api/resource", {**about, "method": "GET", "path": "/api/menu/mine"})
    assert "GET /api/menu/mine" in await listed(clerk)
    await house.data("PUT", f"/api/resource/{made['id']}/buttons", {"menuIds": [button]})
    assert "GET /api/menu/mine" not in await listed(clerk)


async def test_an_unchanged_answer_is_not_sent_again(house: Inside) -> None:
    clerk = await member(house, "clerk")
    tag = (await clerk.ask("GET", PATH)).header("etag") or ""
    same = await clerk.ask("GET", PATH, None, ("If-None-Match", tag))
    assert (same.status, same.body, same.header("etag")) == (304, b"", tag)
    assert same.header("content-type") is None
    changed = await house.ask("GET", PATH, None, ("If-None-Match", tag))
    assert changed.status == 200
    record = await house.ask("GET", "/api/role/1")
    known = ("If-None-Match", record.header("etag") or "")
    assert (await house.ask("GET", "/api/role/1", None, known)).status == 304


async def test_a_ban_is_seen_also_by_those_who_know_the_tag_of_the_user(house: Inside) -> None:
    clerk = await member(house, "clerk")
    path = f"/api/user/{clerk.user_id}"
    known = ("If-None-Match", (await house.ask("GET", path)).header("etag") or "")
    await house.data("POST", f"/api/online/{clerk.user_id}/ban", {"reason": "gone"})
    seen = await house.ask("GET", path, None, known)
    assert (seen.status, seen.json["data"]["ban"]["reason"]) == (200, "gone")
