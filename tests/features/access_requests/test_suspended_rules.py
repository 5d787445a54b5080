"""A role that can be asked for comes to give more: its rule is asked anew, and requests show it."""

from typing import Any

import pytest

from tests.features.access_requests.test_requests import ASKED, asked, decide, ruled
from tests.roles.test_request_rules import LINES, RULE, lines, path, revision, role
from tests.support.inside import Inside
from tests.support.members import Member, ids_of, member, query

_POWERS = ("system:role:list", "system:role:update", "system:user:list")
MORE = {"permissions": ["system:file:list", "system:file:delete"]}


async def rule_of_a_clerk(house: Inside, *powers: str) -> tuple[int, Member]:
    """Let somebody who holds ``powers`` write the rule of an empty role; return the role and the author."""
    number = await role(house)
    clerk = await member(house, "clerk", *_POWERS, *powers)
    assert (await clerk.ask("PUT", path(number), RULE)).status == 200
    return number, clerk


def gives(number: int) -> str:
    return f"/api/role/{number}/permissions"


async def suspended(house: Inside, number: int) -> bool:
    shown: bool = (await house.data("GET", path(number)))["suspended"]
    return shown


async def test_a_rule_is_suspended_when_its_author_may_not_grant_what_the_role_comes_to_give(
    house: Inside,
) -> None:
    number, _ = await rule_of_a_clerk(house, "system:file:list")
    before = await revision(house)

    preview = await house.preview("PUT", gives(number), MORE)
    answer = await house.ask("PUT", gives(number), MORE)

    why = "clerk may not grant system:file:delete"
    warning = f"The role heron cannot be requested until its request rule is saved again: {why}"
    assert (preview["warnings"], answer.json["warnings"]) == ([warning], [warning])
    assert (await suspended(house, number), await lines(house)) == (True, [])
    assert await revision(house) == before + 1
    noah = await member(house, "noah")
    refused = await noah.ask("POST", ASKED, {"roleId": number, "duration": 60})
    assert (refused.status, refused.fields) == (422, ["roleId"])


async def test_a_suspended_rule_is_in_force_once_somebody_saves_it_who_may_grant_the_role(
    house: Inside,
) -> None:
    number, clerk = await rule_of_a_clerk(house)
    await house.data("PUT", gives(number), MORE)

    refused = await clerk.ask("PUT", path(number), RULE)
    saved = await house.data("PUT", path(number), RULE)

    assert (refused.status, refused.json["layer"]) == (403, "grant")
    assert (saved["suspended"], sorted(await lines(house))) == (False, sorted(LINES))
    again = await house.ask("PUT", gives(number), {"permissions": [*MORE["permissions"], "system:menu:list"]})
    assert again.json["warnings"] == [
        "The role heron can be requested: its requests now also give system:menu:list"
    ]
    assert [each["code"] for each in again.json["warningSentences"]] == ["requests_give_more"]
    assert not await suspended(house, number)


async def test_a_rule_whose_author_may_grant_it_all_stays_and_the_answer_says_so(house: Inside) -> None:
    number, _ = await rule_of_a_clerk(house, *MORE["permissions"])
    before = await revision(house)

    answer = await house.ask("PATCH", f"/api/role/{number}", MORE)

    assert answer.json["warnings"] == [
        "The role heron can be requested: its requests now also give system:file:delete, system:file:list"
    ]
    assert (await suspended(house, number), await revision(house)) == (False, before)
    assert "warnings" not in (await house.ask("PATCH", f"/api/role/{number}", MORE)).json


@pytest.mark.parametrize("lost", ["deleted", "disabled"])
async def test_an_author_who_is_gone_may_grant_nothing_and_nobody_of_the_same_name_stands_in(
    house: Inside, lost: str
) -> None:
    number, clerk = await rule_of_a_clerk(house, *MORE["permissions"])
    if lost == "deleted":
        await house.data("DELETE", f"/api/user/{clerk.user_id}")
        await query(house, "DELETE FROM sys.role WHERE id = %s", clerk.role_id)
        await member(house, "clerk", "*")
    else:
        await house.data("PATCH", f"/api/user/{clerk.user_id}", {"status": "disabled"})

    await house.data("PUT", gives(number), MORE)

    assert await suspended(house, number)


async def test_a_button_that_gets_another_code_suspends_the_rule_too(house: Inside) -> None:
    number, clerk = await rule_of_a_clerk(house, "system:file:list")
    assert (await house.data("PUT", gives(number), {"permissions": ["system:file:list"]}))["permissions"]
    (button,) = await ids_of(house, "system:file:list")
    await query(house, "DELETE FROM sys.role_menu WHERE role_id = %s AND menu_id = %s", clerk.role_id, button)

    answer = await house.ask("PATCH", f"/api/menu/{button}", {"authMark": "heron:secret"})

    assert answer.status == 200
    assert "clerk may not grant heron:secret" in answer.json["warnings"][0]
    assert (await suspended(house, number), await lines(house)) == (True, [])


@pytest.mark.feature("tables")
async def test_a_table_that_would_suspend_a_rule_is_refused(house: Inside) -> None:
    number, _ = await rule_of_a_clerk(house)
    table = b"roleCode,permissions\r\nheron,system:file:list\r\n"

    answer = await house.ask_raw("POST", "/api/role/import", table, ("Content-Type", "text/csv"))

    assert (answer.status, answer.fields) == (422, ["permissions"])
    assert not await suspended(house, number)


async def test_a_pending_request_says_what_the_role_gave_and_what_has_changed_since(house: Inside) -> None:
    number = await ruled(house, "system:file:list", "system:menu:list", grantNeeded=False)
    heron = await member(house, "heron-1")
    kestrel = await member(house, "kestrel", "system:user:list")
    request = await asked(heron)

    await house.data("PUT", gives(number), MORE)

    def permissions(item: Any) -> tuple[Any, ...]:
        return item["permissions"], item["permissionsAdded"], item["permissionsRemoved"]

    assert permissions(request) == (["system:file:list", "system:menu:list"], [], [])
    seen = (await kestrel.ask("GET", f"{ASKED}/{request['id']}")).json["data"]
    assert permissions(seen) == (
        ["system:file:list", "system:menu:list"],
        ["system:file:delete"],
        ["system:menu:list"],
    )
    ended = (await decide(kestrel, request)).json["data"]
    assert permissions(ended) == (None, None, None)
