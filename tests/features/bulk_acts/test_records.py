"""Many roles, or resources, are enabled or disabled: all of them or none, by the rules of an edit of one."""

from typing import Any

import pytest

from service.features.bulk_acts.api import MAX_RECORDS
from tests.support.cases import with_each
from tests.support.inside import Inside
from tests.support.members import member
from tests.web.driver import Answer

ROLES, RESOURCES = "/api/role/bulk/enabled", "/api/resource/bulk/enabled"


async def roles(house: Inside, *codes: str, **values: Any) -> list[int]:
    made = [{"roleCode": code, "roleName": f"Role {code}"} | values for code in codes]
    return [(await house.data("POST", "/api/role", body))["id"] for body in made]


async def resources(house: Inside, *names: str, **values: Any) -> list[int]:
    made = [
        {"resourceCode": name, "resourceName": name, "method": "GET", "path": f"/api/{name}/{{id}}"} | values
        for name in names
    ]
    return [(await house.data("POST", "/api/resource", body))["id"] for body in made]


async def states(house: Inside, noun: str, ids: list[int]) -> list[bool]:
    return [(await house.data("GET", f"/api/{noun}/{number}"))["enabled"] for number in ids]


def refused(answer: Answer) -> list[tuple[int, str, str]]:
    assert answer.status == 422, answer.body
    return [(error["row"], error["field"], error["code"]) for error in answer.json["errors"]]


async def test_many_roles_are_disabled_and_one_that_was_so_before_is_not_touched(house: Inside) -> None:
    holder = await member(house, "heron", "system:role:list")
    ids = [holder.role_id, *await roles(house, "night"), *await roles(house, "day", enabled=False)]
    token = await house.log_in("heron")

    done = await house.data("POST", ROLES, {"ids": ids, "enabled": False})

    assert done == {"changed": 2, "unchanged": 1}
    assert await states(house, "role", ids) == [False] * 3
    assert (await house.data("GET", f"/api/role/{ids[2]}"))["version"] == 1
    assert (await house.ask("GET", "/api/role/list", token=token)).code == "refresh_required"
    again = await house.data("POST", ROLES, {"ids": ids, "enabled": True})
    assert again == {"changed": 3, "unchanged": 0}


async def test_many_resources_are_disabled_in_one_revision(house: Inside) -> None:
    ids = await resources(house, "many-a", "many-b") + await resources(house, "many-c", enabled=False)
    (before,) = (await house.data("GET", "/api/policy/revisions?size=1"))["items"]

    done = await house.data("POST", RESOURCES, {"ids": ids, "enabled": False})

    assert done == {"changed": 2, "unchanged": 1, "policyRevision": before["revision"] + 1}
    assert await states(house, "resource", ids) == [False] * 3


@pytest.mark.parametrize(
    ("path", "noun", "make"), [(ROLES, "role", roles), (RESOURCES, "resource", resources)]
)
async def test_a_dry_run_changes_nothing_and_answers_the_same(
    house: Inside, path: str, noun: str, make: Any
) -> None:
    ids = await make(house, "one", "two")
    order = {"ids": ids, "enabled": False}

    dry = await house.ask("POST", f"{path}?dryRun=true", order)

    assert (dry.json["data"]["changed"], dry.json["data"]["unchanged"]) == (2, 0)
    assert dry.json["preview"]["gains"] == []
    assert await states(house, noun, ids) == [True] * 2
    assert (await house.data("POST", path, order))["changed"] == 2


@pytest.mark.parametrize(
    ("path", "noun", "make"), [(ROLES, "role", roles), (RESOURCES, "resource", resources)]
)
async def test_none_is_changed_when_one_is_refused(house: Inside, path: str, noun: str, make: Any) -> None:
    ids = await make(house, "one", "two")

    missing = await house.ask("POST", path, {"ids": [*ids, 999_999], "enabled": False})
    twice = await house.ask("POST", path, {"ids": [*ids, ids[0]], "enabled": False})

    assert refused(missing) == [(3, "ids[2]", "not_found")]
    assert [row for row, *_ in refused(twice)] == [3]
    assert await states(house, noun, ids) == [True] * 2


async def test_who_lacks_what_a_role_gives_changes_none_of_many(house: Inside) -> None:
    strong = (await member(house, "stork", "system:file:list")).role_id
    (plain,) = await roles(house, "plain")
    await member(house, "clerk", "system:role:update")
    token = await house.log_in("clerk")

    answer = await house.ask("POST", ROLES, {"ids": [plain, strong], "enabled": False}, token=token)

    assert refused(answer) == [(2, "ids[1]", "permission_denied")]
    assert await states(house, "role", [plain, strong]) == [True] * 2


async def test_who_administers_no_resource_of_a_service_changes_none_of_many(house: Inside) -> None:
    (own,) = await resources(house, "own")
    await member(house, "guest", "system:service:resources")
    token = await house.log_in("guest")

    answer = await house.ask("POST", RESOURCES, {"ids": [own], "enabled": False}, token=token)

    assert refused(answer) == [(1, "ids[0]", "permission_denied")]
    assert await states(house, "resource", [own]) == [True]


@with_each("path", [ROLES, RESOURCES])
@with_each("ids", [[], [0], list(range(1, MAX_RECORDS + 2))])
async def test_an_order_that_is_none_is_refused(shared: Inside, path: str, ids: list[int]) -> None:
    assert (await shared.ask("POST", path, {"ids": ids, "enabled": False})).status == 422
