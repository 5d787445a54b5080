"""What was not used: by the API, the command and ``doctor``."""

from types import SimpleNamespace
from typing import Any

import pytest

from service.features.reviews.checks import unused_rights
from service.operator.findings import Finding, Installation
from service.records.database.transactions import Database
from service.settings import Settings
from tests.features.permission_use.conftest import days_ago, store_uses
from tests.support.inside import Inside
from tests.support.members import Member, member

Unused = dict[str, Any]


@pytest.fixture
async def two(house: Inside) -> tuple[Member, Member]:
    """Two members, each of a role with two codes."""
    codes = ("system:role:list", "system:user:list")
    return await member(house, "first", *codes), await member(house, "second", *codes)


async def unused(service: Inside, days: int = 90, more: str = "&size=100") -> Unused:
    answer: Unused = await service.data("GET", f"/api/policy/unused?days={days}{more}")
    return answer


def assigned(answer: Unused) -> set[tuple[str, str]]:
    return {(each["userName"], each["roleCode"]) for each in answer["assignments"]["items"]}


def codes(answer: Unused, role: str) -> set[str]:
    return {each["code"] for each in answer["codes"]["items"] if each["roleCode"] == role}


def proposed(answer: Unused, role: str) -> list[str] | None:
    roles = {each["roleCode"]: each["proposed"] for each in answer["roles"]["items"]}
    return roles.get(role)


@pytest.mark.usefixtures("two")
async def test_nothing_is_unused_while_the_time_was_not_watched(house: Inside) -> None:
    store_uses(house.database_url, {}, since_days=0)
    answer = await unused(house)

    assert (answer["observed"], answer["days"]) == (False, 0)
    assert answer["recordedSince"].startswith(str(days_ago(0)))
    assert [answer[part]["total"] for part in ("assignments", "codes", "keys", "roles")] == [0, 0, 0, 0]


async def test_the_answer_is_about_the_recorded_time_where_more_is_asked_for(
    house: Inside, two: tuple[Member, Member]
) -> None:
    first, _ = two
    uses = {first.user_id: {"system:role:list": days_ago(20), "system:user:list": days_ago(3)}}
    store_uses(house.database_url, uses, since_days=10)
    more, less = await unused(house), await unused(house, 5)

    assert (more["observed"], more["days"], more["since"]) == (True, 10, str(days_ago(9)))
    assert more["reviewScope"]["unusedDays"] == 10
    assert codes(more, "first") == {"system:role:list"}
    assert (less["days"], less["since"]) == (5, str(days_ago(4)))


async def test_an_assignment_is_used_if_its_role_gives_a_code_that_its_user_has_needed(
    house: Inside, two: tuple[Member, Member]
) -> None:
    first, second = two
    uses = {
        first.user_id: {"system:role:list": days_ago(89), "@login": days_ago(0)},
        second.user_id: {
            "system:role:list": days_ago(90),
            "@login": days_ago(0),
            "system:menu:list": days_ago(0),
        },
    }
    store_uses(house.database_url, uses)
    answer = await unused(house)

    assert assigned(answer) >= {("second", "second")}
    assert ("first", "first") not in assigned(answer)
    assert codes(answer, "first") == {"system:user:list"}
    assert codes(answer, "second") == {"system:role:list", "system:user:list"}
    assert (proposed(answer, "first"), proposed(answer, "second")) == (["system:role:list"], [])


async def test_two_roles_with_one_code_are_both_used(house: Inside, two: tuple[Member, Member]) -> None:
    first, second = two
    house.beside().execute("INSERT INTO sys.user_role VALUES (%s, %s)", (first.user_id, second.role_id))
    store_uses(house.database_url, {first.user_id: {"system:role:list": days_ago(3)}})
    answer = await unused(house)

    assert assigned(answer) & {("first", "first"), ("first", "second"), ("second", "second")} == {
        ("second", "second")
    }
    assert codes(answer, "second") == {"system:user:list"}


async def test_a_wildcard_is_used_by_what_it_gives_and_narrowed_to_it(house: Inside) -> None:
    holder = await member(house, "holder", "system:*")
    store_uses(house.database_url, {holder.user_id: {"system:role:list": days_ago(3)}})
    answer = await unused(house)

    assert codes(answer, "holder") == set()
    assert proposed(answer, "holder") == ["system:role:list"]
    change = {"permissions": proposed(answer, "holder")}
    preview = await house.preview("PUT", f"/api/role/{holder.role_id}/permissions", change)
    assert preview["users"]["total"] == 1 if "users" in preview else preview


async def test_what_is_younger_than_the_time_is_not_unused(house: Inside, two: tuple[Member, Member]) -> None:
    first, _ = two
    store_uses(house.database_url, {})
    connection = house.beside()
    connection.execute(
        "UPDATE sys.user_role SET create_time = now() - interval '10 days' WHERE user_id = %s",
        (first.user_id,),
    )
    connection.execute(
        "UPDATE sys.role_code_life SET begin_time = now() - interval '10 days' WHERE role_code = 'second'"
        " AND code = 'system:role:list'"
    )
    answer = await unused(house)

    assert assigned(answer) & {("first", "first"), ("second", "second")} == {("second", "second")}
    assert codes(answer, "second") == {"system:user:list"}
    assert proposed(answer, "second") == ["system:role:list"]
    assert ("first", "first") in assigned(await unused(house, 9))


async def test_what_was_used_by_a_holder_who_has_lost_the_role_since_counts(
    house: Inside, two: tuple[Member, Member]
) -> None:
    first, _ = two
    store_uses(house.database_url, {first.user_id: {"system:role:list": days_ago(3)}})
    await house.data("PATCH", f"/api/user/{first.user_id}", {"roleIds": []})

    assert codes(await unused(house), "first") == {"system:user:list"}


async def test_a_use_from_before_the_assignment_does_not_count_for_its_role(
    house: Inside, two: tuple[Member, Member]
) -> None:
    first, second = two
    uses = {first.user_id: {"system:role:list": days_ago(20), "system:user:list": days_ago(5)}}
    store_uses(house.database_url, uses)
    house.beside().execute(
        "INSERT INTO sys.user_role (user_id, role_id, create_time)"
        " VALUES (%s, %s, now() - interval '10 days')",
        (first.user_id, second.role_id),
    )

    assert codes(await unused(house), "second") == {"system:role:list"}


async def test_an_api_key_is_unused_by_its_last_use(house: Inside, two: tuple[Member, Member]) -> None:
    account = {"userName": "job", "nickName": "job", "kind": "service", "roleIds": [two[0].role_id]}
    user_id = (await house.data("POST", "/api/user", account))["id"]
    made = {
        name: (await house.data("POST", f"/api/user/{user_id}/keys", {"name": name}))["id"]
        for name in ("never", "long ago", "lately", "expired", "new")
    }
    store_uses(house.database_url, {})
    for change, name in (
        ("last_use_time = now() - interval '91 days'", "long ago"),
        ("last_use_time = now() - interval '80 days'", "lately"),
        ("expire_time = now() - interval '1 day'", "expired"),
        ("create_time = now()", "new"),
    ):
        house.beside().execute(f"UPDATE sys.api_key SET {change} WHERE id = {made[name]}".encode())
    keys = (await unused(house))["keys"]

    assert [(key["keyName"], key["lastUseTime"] is None) for key in keys["items"]] == [
        ("never", True),
        ("long ago", False),
    ]
    assert {(key["userName"], key["userId"]) for key in keys["items"]} == {("job", user_id)}


@pytest.mark.usefixtures("two")
async def test_lists_come_in_pages(house: Inside) -> None:
    store_uses(house.database_url, {})
    whole = await unused(house)
    pages = [await unused(house, more=f"&size=1&page={number}") for number in (1, 2)]

    assert [page["assignments"]["items"][0] for page in pages] == whole["assignments"]["items"][:2]
    assert [page["codes"]["items"][0] for page in pages] == whole["codes"]["items"][:2]
    assert {page["codes"]["total"] for page in pages} == {whole["codes"]["total"]}


@pytest.mark.parametrize("days", [0, 731, -1])
async def test_other_days_are_refused(shared: Inside, days: int) -> None:
    assert (await shared.ask("GET", f"/api/policy/unused?days={days}")).status == 422


async def test_doctor_counts_what_is_unused(house: Inside, two: tuple[Member, Member]) -> None:
    async def finding() -> Finding:
        there: Any = SimpleNamespace(schema=SimpleNamespace(is_usable=True))
        async with Database(house.database_url, timeout=10) as database:
            asked = Installation({}, Settings(), lambda _shipped: (), database=database, server=there)
            return await unused_rights(asked)

    store_uses(house.database_url, {}, since_days=5)
    assert (await finding()).message.startswith("not known yet: uses are recorded since ")
    store_uses(house.database_url, {})
    idle = await finding()
    assert (idle.state, idle.message.split(" of ")[0]) == ("warning", "3 assignments")
    store_uses(house.database_url, {two[0].user_id: {"@login": days_ago(0)}})
    assert (await finding()).message == (
        "2 assignments of users who have used nothing for 90 days, and 0 API keys unused for as long"
    )
