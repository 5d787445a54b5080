"""How roles are asked for: /api/role/{id}/request-rule, and the lines that follow from it."""

from typing import Any

import pytest

from tests.support.cases import with_each
from tests.support.inside import Inside
from tests.support.members import ids_of, member

RULE: dict[str, Any] = {
    "requestableBy": "@login",
    "stages": [
        {"code": "system:user:list", "approvals": 2},
        {"code": "system:role:list", "approvals": 1},
    ],
    "maxDuration": 3600,
    "pendingTimeout": 600,
    "reasonRequired": False,
}
LINES = [
    "p, request, role heron, @login",
    "p, approve, role heron stage 1 for others, system:user:list",
    "p, approve, role heron stage 1 takes 2, @counted",
    "p, approve, role heron stage 2 for others, system:role:list",
    "p, approve, role heron stage 2 takes 1, @counted",
    "p, assurance, request role heron, @anyone",
]


async def role(house: Inside, *codes: str, **values: Any) -> int:
    """Make the role ``heron``, which gives ``codes``; return its id."""
    body = {"roleName": "Heron", "roleCode": "heron", "permissions": list(codes), **values}
    number: int = (await house.data("POST", "/api/role", body))["id"]
    return number


def path(role_id: int) -> str:
    return f"/api/role/{role_id}/request-rule"


async def lines(house: Inside) -> list[str]:
    """Return the lines of the policy in force that speak of the role ``heron``."""
    shown: list[str] = (await house.data("GET", "/api/policy?line=role%20heron"))["rules"]
    return shown


async def revision(house: Inside) -> int:
    number: int = (await house.data("GET", "/api/policy/revisions"))["items"][0]["revision"]
    return number


async def test_a_rule_is_published_as_lines_and_read_back(house: Inside) -> None:
    number = await role(house)
    before = await revision(house)

    saved = await house.data("PUT", path(number), RULE)

    expected = RULE | {"grantNeeded": True, "assurance": None, "emergency": False, "version": 1}
    assert saved.items() >= expected.items()
    assert (saved["roleId"], saved["roleCode"], saved["policyRevision"]) == (number, "heron", before + 1)
    del saved["policyRevision"]
    assert await house.data("GET", path(number)) == saved
    assert sorted(await lines(house)) == sorted(LINES)


async def test_a_rule_is_deleted_with_its_lines_and_then_nobody_can_ask(house: Inside) -> None:
    number = await role(house)
    await house.data("PUT", path(number), RULE)

    await house.data("DELETE", path(number))

    assert await lines(house) == []
    assert [(await house.ask(method, path(number))).status for method in ("GET", "DELETE")] == [404, 404]


async def test_a_dry_run_is_refused_as_the_change_would_be_and_changes_nothing(house: Inside) -> None:
    number = await role(house)
    before = await revision(house)

    preview = await house.preview("PUT", path(number), RULE)
    refused = await house.ask("PUT", f"{path(number)}?dryRun=true", RULE | {"emergency": True})

    assert (preview["warnings"], refused.status, refused.fields) == ([], 422, ["assurance"])
    assert (await house.ask("GET", path(number))).status == 404
    assert (await revision(house), await lines(house)) == (before, [])


async def test_a_rule_changes_by_its_tag_only(house: Inside) -> None:
    number = await role(house)
    tag = str((await house.ask("PUT", path(number), RULE, ("If-Match", '"0"'))).header("etag"))

    changed = await house.ask("PUT", path(number), RULE | {"maxDuration": 60}, ("If-Match", tag))
    late = await house.ask("PUT", path(number), RULE, ("If-Match", tag))

    assert (changed.status, changed.json["data"]["version"], late.status) == (200, 2, 412)
    read = await house.ask("GET", path(number))
    assert (read.json["data"]["maxDuration"], read.header("etag")) == (60, changed.header("etag"))


async def test_the_tag_of_a_rule_is_not_that_of_one_made_anew(house: Inside) -> None:
    number = await role(house)
    tag = str((await house.ask("PUT", path(number), RULE)).header("etag"))
    await house.data("DELETE", path(number))
    await house.data("PUT", path(number), RULE | {"maxDuration": 60})

    late = await house.ask("PUT", path(number), RULE, ("If-Match", tag))

    assert late.status == 412
    assert (await house.data("GET", path(number)))["maxDuration"] == 60


async def test_only_what_concerns_the_lines_of_a_role_publishes(house: Inside) -> None:
    number = await role(house)
    await house.data("PUT", path(number), RULE)
    published = await revision(house)

    await house.data("PATCH", f"/api/role/{number}", {"description": "Asked for"})
    await house.data("PUT", f"/api/role/{number}/permissions", {"permissions": ["system:user:list"]})
    assert (await revision(house), len(await lines(house))) == (published, len(LINES))

    await house.data("PATCH", f"/api/role/{number}", {"enabled": False})
    assert (await revision(house), await lines(house)) == (published + 1, [])
    await house.data("POST", "/api/role/bulk/enabled", {"ids": [number], "enabled": True})
    assert (await revision(house), len(await lines(house))) == (published + 2, len(LINES))
    await house.data("DELETE", f"/api/role/{number}")
    assert (await revision(house), await lines(house)) == (published + 3, [])


async def test_a_role_without_a_rule_is_switched_and_deleted_without_a_revision(house: Inside) -> None:
    number = await role(house)
    before = await revision(house)

    await house.data("PATCH", f"/api/role/{number}", {"enabled": False})
    await house.data("DELETE", f"/api/role/{number}")

    assert await revision(house) == before


@pytest.mark.feature("tables")
async def test_a_table_does_not_switch_a_role_that_can_be_asked_for(house: Inside) -> None:
    number = await role(house)
    await house.data("PUT", path(number), RULE)

    answer = await house.ask_raw(
        "POST",
        "/api/role/import",
        b"roleCode,enabled\r\nheron,false\r\n",
        ("Content-Type", "text/csv"),
    )

    assert (answer.status, answer.fields) == (422, ["enabled"])
    assert (await house.data("GET", f"/api/role/{number}"))["enabled"] is True


@pytest.fixture
async def limited(house: Inside) -> int:
    """The id of a role that lasts for two hours at most."""
    return await role(house, maxDuration=7200)


@with_each(
    ("change", "field"),
    [
        ({"requestableBy": "@anyone"}, "requestableBy"),
        ({"requestableBy": "no:such:code"}, "requestableBy"),
        ({"stages": []}, "stages"),
        ({"stages": [{"code": "no:such:code", "approvals": 1}]}, "stages[0].code"),
        ({"stages": [{"code": "system:user:list", "approvals": 0}]}, "stages[0].approvals"),
        ({"stages": [{"code": "@login", "approvals": 1}]}, "stages[0].code"),
        ({"maxDuration": 0}, "maxDuration"),
        ({"maxDuration": 7201}, "maxDuration"),
        ({"pendingTimeout": 0}, "pendingTimeout"),
        ({"emergency": True}, "assurance"),
        ({"emergency": True, "assurance": "login-within-15m"}, "assurance"),
    ],
)
async def test_a_rule_that_can_not_be_is_refused_with_its_field(
    house: Inside, limited: int, change: dict[str, Any], field: str
) -> None:
    answer = await house.ask("PUT", path(limited), RULE | change)

    assert (answer.status, answer.fields) == (422, [field])
    assert (await house.ask("GET", path(limited))).status == 404


async def test_an_emergency_has_lines_of_its_own_with_the_demand(house: Inside) -> None:
    number = await role(house)
    strong = {"emergency": True, "assurance": "two-factors-within-15m", "grantNeeded": False}

    await house.data("PUT", path(number), RULE | strong)

    assert {
        "p, request, role heron emergency, @login",
        "p, assurance, request role heron emergency, @two-factors-within-15m",
        "p, assurance, request role heron, @two-factors-within-15m",
        "p, approve, role heron without-grant, @login",
    } <= set(await lines(house))


async def test_who_writes_a_rule_may_grant_every_code_of_the_role_and_of_the_stages(house: Inside) -> None:
    number = await role(house, "system:file:list")
    powers = ("system:role:list", "system:role:update")
    half = await member(house, "half", *powers, "system:file:list")
    lacks_role = await member(house, "lacksrole", *powers, "system:user:list")
    whole = await member(house, "whole", *powers, "system:file:list", "system:user:list")

    refused = await half.ask("PUT", path(number), RULE)
    other = await lacks_role.ask("PUT", path(number), RULE)
    allowed = await whole.ask("PUT", path(number), RULE)

    assert (refused.status, refused.json["layer"], refused.json["required"]) == (
        403,
        "grant",
        ["system:user:list"],
    )
    assert (other.status, other.json["required"]) == (403, ["system:file:list"])
    assert allowed.status == 200
    assert (await half.ask("DELETE", path(number))).status == 403
    assert await ids_of(house, "system:user:list")


async def test_nobody_passes_a_stage_for_themselves_whatever_they_hold(house: Inside) -> None:
    number = await role(house)
    await house.data("PUT", path(number), RULE)

    async def asked(name: str, *permissions: str) -> bool:
        question = {"layer": "approve", "object": name, "permissions": list(permissions)}
        allowed: bool = (await house.data("POST", "/api/policy/explain", question))["allowed"]
        return allowed

    assert not await asked("role heron stage 1 for self", "*")
    assert await asked("role heron stage 1 for others", "*")
    assert await asked("role heron stage 1 for others", "system:user:list")
    assert not await asked("role heron stage 1 for others", "system:role:list")
    assert not await asked("role heron stage 1 takes 2", "*")
