"""Nobody appoints the approvers of their own request: whom its author makes able to, does not count."""

from typing import Any

import pytest
from sqlalchemy import Engine, event

from service.features.access_requests import store_appointees as request_appointees
from tests.support.inside import Inside
from tests.support.members import Member, ids_of, member, query
from tests.support.without import is_served

STAGE = "system:file:list"
"""The code that approves the only stage of the request."""
OF_ROLE = "system:role:list"
"""The code of the role that is asked for."""
PENDING = (
    "INSERT INTO sys.access_request (user_id, user_name, role_id, role_code, duration, asked_decision_id,"
    " stage_codes, stage_approvals, grant_needed, create_time, deadline)"
    " VALUES (%s, %s, %s, 'heron', 60, 'decision', %s, '{1}', %s, now(), now() + interval '1 day')"
    " RETURNING id"
)
EGRET = {"userName": "egret", "nickName": "Egret", "password": "long enough 4711"}
TOMORROW = "2999-01-01T00:00:00Z"
LATER = "2999-02-01T00:00:00Z"


async def asked(house: Inside, *, grant_needed: bool = False) -> tuple[Member, int]:
    """Return the author of a pending request, who may do everything, and its id."""
    author = await member(house, "author", "*")
    body = {"roleName": "Heron", "roleCode": "heron", "permissions": [OF_ROLE]}
    role_id = (await house.data("POST", "/api/role", body))["id"]
    values = author.user_id, author.name, role_id, [STAGE], grant_needed
    ((request_id,),) = await query(house, PENDING, *values)
    return author, request_id


async def appointed(house: Inside) -> set[str]:
    """Return the names of those who were made able to approve any request by its author."""
    named = "SELECT user_name FROM sys.access_request_appointee e JOIN sys.user u ON u.id = e.user_id"
    return {name for (name,) in await query(house, named)}


async def role_with(house: Inside, name: str, *codes: str, **values: Any) -> int:
    body = {"roleName": name, "roleCode": name, "permissions": list(codes), **values}
    number: int = (await house.data("POST", "/api/role", body))["id"]
    return number


async def send(who: Member, method: str, target: str, body: Any = None) -> Any:
    """Send a request that must succeed; return what it answers."""
    answer = await who.ask(method, target, body)
    assert answer.status in (200, 201, 202, 204), answer.body
    return answer.json["data"] if answer.body else None


@pytest.mark.parametrize("given", [STAGE, "system:file:*"])
async def test_whom_the_author_gives_the_code_of_a_stage_does_not_count(house: Inside, given: str) -> None:
    if given != STAGE:
        button = {"title": "Files", "menuType": "Button", "authMark": given, "parentId": None}
        await house.data("POST", "/api/menu", button)
    author, _ = await asked(house)
    role_id = await role_with(house, "approvers", given)
    friend = await member(house, "friend")

    await send(author, "POST", f"/api/user/{friend.user_id}/roles", {"roleId": role_id})

    assert await appointed(house) == {"friend"}


async def test_whom_another_administrator_gives_it_is_not_excluded(house: Inside) -> None:
    await asked(house)
    role_id = await role_with(house, "approvers", STAGE)
    friend = await member(house, "friend")

    await house.data("POST", f"/api/user/{friend.user_id}/roles", {"roleId": role_id})
    await house.data("PUT", f"/api/user/{friend.user_id}/password", {"newPassword": "quite long 4711"})

    assert await appointed(house) == set()


async def test_what_gives_nobody_a_code_of_a_stage_appoints_nobody(house: Inside) -> None:
    author, _ = await asked(house)
    role_id = await role_with(house, "others", OF_ROLE)
    friend = await member(house, "friend", STAGE)

    await send(author, "POST", f"/api/user/{friend.user_id}/roles", {"roleId": role_id})
    await send(author, "PATCH", f"/api/role/{friend.role_id}", {"description": "Files"})
    await send(author, "PATCH", f"/api/role/{friend.role_id}", {"enabled": False})

    assert await appointed(house) == set()


async def test_who_becomes_able_to_grant_a_code_of_the_role_does_not_count_where_that_is_needed(
    house: Inside,
) -> None:
    author, _ = await asked(house, grant_needed=True)
    role_id = await role_with(house, "others", OF_ROLE)
    friend = await member(house, "friend", STAGE)

    await send(author, "POST", f"/api/user/{friend.user_id}/roles", {"roleId": role_id})

    assert await appointed(house) == {"friend"}


async def test_whoever_has_a_role_that_gets_the_button_does_not_count(house: Inside) -> None:
    author, _ = await asked(house)
    friend = await member(house, "friend", OF_ROLE)

    permissions = {"permissions": [OF_ROLE, STAGE]}
    await send(author, "PUT", f"/api/role/{friend.role_id}/permissions", permissions)

    assert await appointed(house) == {"friend"}


async def test_whoever_has_a_role_that_is_enabled_does_not_count(house: Inside) -> None:
    author, _ = await asked(house)
    friend = await member(house, "friend", STAGE)
    await house.data("PATCH", f"/api/role/{friend.role_id}", {"enabled": False})

    await send(author, "PATCH", f"/api/role/{friend.role_id}", {"enabled": True})

    assert await appointed(house) == {"friend"}


async def test_whoever_has_a_button_that_is_enabled_does_not_count(house: Inside) -> None:
    author, _ = await asked(house)
    await member(house, "friend", STAGE)
    (button,) = await ids_of(house, STAGE)
    await house.data("PATCH", f"/api/menu/{button}", {"enabled": False})

    await send(author, "PATCH", f"/api/menu/{button}", {"enabled": True})

    assert "friend" in await appointed(house)


@pytest.mark.feature("tables")
async def test_a_role_in_a_table_excludes_like_an_edit(house: Inside) -> None:
    author, _ = await asked(house)
    await member(house, "friend", OF_ROLE)

    row = {"roleCode": "friend", "permissions": [OF_ROLE, STAGE]}
    await send(author, "POST", "/api/role/import", {"roles": [row]})

    assert await appointed(house) == {"friend"}


async def test_a_longer_assignment_excludes_and_a_shorter_one_does_not(house: Inside) -> None:
    author, _ = await asked(house)
    role_id = await role_with(house, "approvers", STAGE)
    friend = await member(house, "friend")
    body = {"roleId": role_id, "until": LATER}
    given = await house.data("POST", f"/api/user/{friend.user_id}/roles", body)
    path = f"/api/user/{friend.user_id}/roles/{given['id']}"

    await send(author, "PATCH", path, {"until": TOMORROW})
    assert await appointed(house) == set()
    await send(author, "PATCH", path, {"until": LATER})
    assert await appointed(house) == {"friend"}


async def test_a_dry_run_appoints_nobody(house: Inside) -> None:
    author, _ = await asked(house)
    role_id = await role_with(house, "approvers", STAGE)
    friend = await member(house, "friend")

    await send(author, "POST", f"/api/user/{friend.user_id}/roles?dryRun=true", {"roleId": role_id})
    await send(author, "PATCH", f"/api/user/{friend.user_id}?dryRun=true", {"email": "friend@example.com"})
    if is_served("POST /api/user/import"):
        await send(author, "POST", "/api/user/import?dryRun=true", {"users": [EGRET]})

    assert await appointed(house) == set()


async def test_what_is_refused_appoints_nobody(house: Inside) -> None:
    author, _ = await asked(house)
    friend = await member(house, "friend")

    refused = await author.ask(
        "PATCH", f"/api/user/{friend.user_id}", {"email": "f@example.com", "roleIds": [0]}
    )

    assert (refused.status, await appointed(house)) == (422, set())


async def test_who_is_behind_no_request_costs_a_single_statement(house: Inside) -> None:
    await asked(house)
    friend, role_id = await member(house, "friend"), await role_with(house, "approvers", STAGE)
    statements: list[str] = []

    def note(_connection: Any, _cursor: Any, statement: str, *_others: Any) -> None:
        statements.append(statement)

    event.listen(Engine, "before_cursor_execute", note)
    try:
        await house.data("POST", "/api/user", EGRET | {"roleIds": [role_id]})
        await house.ask("DELETE", f"/api/user/{friend.user_id}/factors")
    finally:
        event.remove(Engine, "before_cursor_execute", note)

    # One in each of the two transactions; jobs look at requests too.
    assert sum("sys.access_request_appointee" in statement for statement in statements) == 2


async def test_asking_and_withdrawing_look_at_nobodys_codes(
    house: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    author, request_id = await asked(house)
    looked: list[Any] = []

    async def grounds(*given: Any) -> list[Any]:
        looked.append(given)
        return []

    monkeypatch.setattr(request_appointees, "grounds", grounds)
    await send(author, "DELETE", f"/api/access-request/{request_id}")

    assert looked == []
