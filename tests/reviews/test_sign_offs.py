"""Revisions that were signed off, and what has changed since."""

from __future__ import annotations

import psycopg
import pytest

from tests.support.inside import Inside
from tests.support.members import Member, member

pytestmark = pytest.mark.anyio

CHANGES = "/api/policy/changes"


async def newest(house: Inside) -> int:
    revision: int = (await house.data("GET", "/api/policy/revisions"))["items"][0]["revision"]
    return revision


async def sign(by: Inside | Member, revision: int, **changes: str) -> int:
    body = {"title": "reviewed 2026-Q4", "note": "nothing to say"} | changes
    return (await by.ask("POST", f"/api/policy/revisions/{revision}/sign-off", body)).status


async def test_a_sign_off_is_on_the_time_axis_and_stays(house: Inside) -> None:
    revision = await newest(house)

    assert await sign(house, revision) == 200

    (listed,) = [
        item
        for item in (await house.data("GET", "/api/policy/revisions"))["items"]
        if item["revision"] == revision
    ]
    assert [(each["title"], each["userName"], each["note"]) for each in listed["signOffs"]] == [
        ("reviewed 2026-Q4", "admin", "nothing to say")
    ]
    with psycopg.connect(house.database_url) as connection, pytest.raises(psycopg.errors.RaiseException):
        connection.execute("UPDATE sys.policy_sign_off SET title = 'x'")


async def test_there_is_no_sign_off_of_an_unknown_revision_or_without_the_code(house: Inside) -> None:
    reader = await member(house, "reader", "system:policy:read")

    assert await sign(house, 999_999) == 404
    assert await sign(reader, await newest(house)) == 403


async def test_a_sign_off_has_only_characters_that_can_be_seen(house: Inside) -> None:
    revision = await newest(house)

    assert [await sign(house, revision, **{name: "fine\u202e"}) for name in ("title", "note")] == [422, 422]


async def test_what_has_changed_since_the_own_sign_off_is_in_one_place(house: Inside) -> None:
    reader = await member(house, "reader", "system:policy:read", "system:policy:sign-off")
    heron = await member(house, "heron", "system:file:list", "system:file:share")
    assert (await reader.ask("GET", CHANGES)).status == 422
    assert await sign(reader, await newest(house)) == 200
    untouched = (await reader.ask("GET", CHANGES)).json["data"]

    resource = {"resourceName": "x", "resourceCode": "x", "method": "GET", "path": "/api/x/{id}"}
    await house.data("POST", "/api/resource", resource | {"assurance": "two-factors"})
    kept = {"permissions": ["system:file:share"]}
    await house.data("PUT", f"/api/role/{heron.role_id}/permissions", kept)
    kestrel = await member(house, "kestrel", "system:job:list")
    (given,) = (await house.data("GET", f"/api/user/{heron.user_id}/roles"))["items"]
    await house.data("DELETE", f"/api/user/{heron.user_id}/roles/{given['id']}")
    (mine,) = (await house.data("GET", f"/api/user/{kestrel.user_id}/roles"))["items"]
    path = f"/api/user/{reader.user_id}/roles"
    (edited,) = (await house.data("GET", path))["items"]
    await house.data("PATCH", f"{path}/{edited['id']}", {"reason": "as agreed"})
    await reader.log_in()
    changes = (await reader.ask("GET", CHANGES)).json["data"]

    assert (untouched["grants"], untouched["assignments"], untouched["addedLines"]) == ([], [], [])
    assert changes["signOff"]["title"] == "reviewed 2026-Q4"
    assert changes["addedLines"] == ["p, resource, GET /api/x/{id}, @login"]
    assert changes["addedDemands"] == ["p, assurance, resource GET /api/x/{id}, @two-factors"]
    grants = {(each["change"], each["roleCode"], each["code"]) for each in changes["grants"]}
    assert grants == {("taken", "heron", "system:file:list"), ("given", "kestrel", "system:job:list")}
    assigned = {(each["change"], each["id"]) for each in changes["assignments"]}
    assert assigned == {("ended", given["id"]), ("given", mine["id"]), ("edited", edited["id"])}
    assert changes["truncated"] is False
    assert (await reader.ask("GET", f"{CHANGES}?size=1")).json["data"]["truncated"] is True
