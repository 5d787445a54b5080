"""Revisions that were signed off, and what has changed since."""

import json
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.features.reviews.test_evidence_command import run
from tests.support.inside import Inside
from tests.support.members import Member, member
from tests.support.standing_behind import acted

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


async def the_command_tells_the_same(house: Inside, changes: Any, folder: Path) -> None:
    printed = await run(house, folder, "policy", "changes", "--user", "reader", "--json")
    answer = json.loads(printed.output)
    text = (await run(house, folder, "policy", "changes", "--user", "reader")).output
    since = await run(house, folder, "policy", "changes", "--since", str(changes["since"]))
    unsigned = await run(house, folder, "policy", "changes", "--user", "heron")

    assert answer.pop("source").startswith("the database ")
    assert answer == changes
    assert "+ p, resource, GET /api/x/{id}, @login\n" in text
    assert "- role heron: system:file:list  " in text
    assert "- heron heron, ended " in text
    assert (since.status, "+ p, resource, GET /api/x/{id}, @login\n" in since.output) == (0, True)
    assert (unsigned.status, "no sign-off of theirs" in unsigned.errors) == (1, True)


async def test_what_has_changed_since_the_own_sign_off_is_in_one_place(house: Inside, tmp_path: Path) -> None:
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
    await the_command_tells_the_same(house, changes, tmp_path)
    assert (await reader.ask("GET", f"{CHANGES}?size=1")).json["data"]["truncated"] is True


async def test_nobody_signs_off_changes_of_their_own_by_any_of_their_accounts(house: Inside) -> None:
    maker = await member(house, "maker", "*")
    puppet, stranger = [
        await member(house, name, "system:policy:sign-off", "system:policy:read")
        for name in ("puppet", "stranger")
    ]
    await acted(house, maker.user_id, puppet.user_id, "key")
    before = await newest(house)
    resource = {"resourceName": "x", "resourceCode": "x", "method": "GET", "path": "/api/x/{id}"}
    assert (await maker.ask("POST", "/api/resource", resource)).status == 201
    revision = await newest(house)
    path = f"/api/policy/revisions/{revision}"

    assert await sign(maker, before) == 200  # of the revision before, whose changes others made
    refused = await puppet.ask("POST", f"{path}/sign-off", {"title": "reviewed"})
    shown = [(await each.ask("GET", path)).json["data"]["samePerson"] for each in (puppet, stranger)]
    # A new name makes nobody new.
    await house.data("PATCH", f"/api/user/{maker.user_id}", {"userName": "renamed"})
    own = await maker.ask("POST", f"{path}/sign-off", {"title": "reviewed"})

    assert (refused.status, refused.json["layer"], refused.json["required"]) == (403, "review", [])
    assert refused.json["detail"] == f"You may not sign this revision off: {shown[0]}"
    assert shown[0].startswith(
        "puppet counts as the same person as maker: maker created an API key of puppet on"
    )
    assert shown[1] is None
    assert own.status in (401, 403)
    maker.name = "renamed"
    assert await sign(await maker.log_in(), revision) == 403
    assert await sign(stranger, revision) == 200


async def test_once_somebody_else_has_signed_later_changes_alone_count(house: Inside) -> None:
    signer, other = [
        await member(house, name, "system:resource:create", "system:policy:sign-off", "*")
        for name in ("signer", "other")
    ]
    resource = {"resourceName": "x", "resourceCode": "x", "method": "GET", "path": "/api/x/{id}"}
    assert (await signer.ask("POST", "/api/resource", resource)).status == 201
    first = await newest(house)
    assert (await sign(signer, first), await sign(other, first)) == (403, 200)
    later = resource | {"resourceCode": "y", "path": "/api/y/{id}"}
    assert (await other.ask("POST", "/api/resource", later)).status == 201

    assert await sign(signer, await newest(house)) == 200


async def test_authors_are_notified_of_the_sign_off_of_their_changes(house: Inside) -> None:
    author = await member(house, "author", "system:menu:create", "system:role:list")
    reader = await member(house, "reader", "system:policy:sign-off", "system:policy:read")
    revision = await newest(house)
    with psycopg.connect(house.database_url) as connection:
        connection.execute(
            "UPDATE sys.policy_revision SET author_ids = %s WHERE revision = %s", [[author.user_id], revision]
        )
    assert await sign(reader, revision) == 200
    listed = (await author.ask("GET", "/api/user/profile/notices")).json["data"]["items"]
    facts = {"revision": str(revision), "title": "reviewed 2026-Q4"}
    assert [each["facts"] for each in listed if each["kind"] == "policy_signed_off"] == [facts]
    assert "reader" not in str(listed)
