"""Who is behind a request approves it in nobody's place: accounts that its author made, or made able to."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import Engine, event

from service.administration.access_requests import exclusions
from service.records import request_exclusions
from service.records.database.transactions import Database
from tests.reviews.test_own_accounts import LINK
from tests.reviews.test_reviews import DECIDES, decide, items, started
from tests.support.inside import Inside
from tests.support.members import Member, ids_of, member, query

pytestmark = pytest.mark.anyio

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


async def excluded(house: Inside) -> dict[str, str]:
    """Return the names of those who are excluded from any request, and why."""
    named = "SELECT user_name, why FROM sys.access_request_exclusion e JOIN sys.user u ON u.id = e.user_id"
    return dict(await query(house, named))


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
async def test_whom_the_author_gives_the_code_of_a_stage_is_excluded(house: Inside, given: str) -> None:
    if given != STAGE:
        button = {"title": "Files", "menuType": "Button", "authMark": given, "parentId": None}
        await house.data("POST", "/api/menu", button)
    author, _ = await asked(house)
    role_id = await role_with(house, "approvers", given)
    friend = await member(house, "friend")

    await send(author, "POST", f"/api/user/{friend.user_id}/roles", {"roleId": role_id})

    assert await excluded(house) == {"friend": "codes"}


async def test_whom_another_administrator_gives_it_is_not_excluded(house: Inside) -> None:
    await asked(house)
    role_id = await role_with(house, "approvers", STAGE)
    friend = await member(house, "friend")

    await house.data("POST", f"/api/user/{friend.user_id}/roles", {"roleId": role_id})
    await house.data("PUT", f"/api/user/{friend.user_id}/password", {"newPassword": "quite long 4711"})

    assert await excluded(house) == {}


async def test_what_gives_nobody_a_code_of_a_stage_excludes_nobody(house: Inside) -> None:
    author, _ = await asked(house)
    role_id = await role_with(house, "others", OF_ROLE)
    friend = await member(house, "friend", STAGE)

    await send(author, "POST", f"/api/user/{friend.user_id}/roles", {"roleId": role_id})
    await send(author, "PATCH", f"/api/role/{friend.role_id}", {"description": "Files"})
    await send(author, "PATCH", f"/api/role/{friend.role_id}", {"enabled": False})

    assert await excluded(house) == {}


async def test_who_becomes_able_to_grant_a_code_of_the_role_is_excluded_where_that_is_needed(
    house: Inside,
) -> None:
    author, _ = await asked(house, grant_needed=True)
    role_id = await role_with(house, "others", OF_ROLE)
    friend = await member(house, "friend", STAGE)

    await send(author, "POST", f"/api/user/{friend.user_id}/roles", {"roleId": role_id})

    assert await excluded(house) == {"friend": "codes"}


async def test_whoever_has_a_role_that_gets_the_button_is_excluded(house: Inside) -> None:
    author, _ = await asked(house)
    friend = await member(house, "friend", OF_ROLE)

    permissions = {"permissions": [OF_ROLE, STAGE]}
    await send(author, "PUT", f"/api/role/{friend.role_id}/permissions", permissions)

    assert await excluded(house) == {"friend": "codes"}


async def test_whoever_has_a_role_that_is_enabled_is_excluded(house: Inside) -> None:
    author, _ = await asked(house)
    friend = await member(house, "friend", STAGE)
    await house.data("PATCH", f"/api/role/{friend.role_id}", {"enabled": False})

    await send(author, "PATCH", f"/api/role/{friend.role_id}", {"enabled": True})

    assert await excluded(house) == {"friend": "codes"}


async def test_whoever_has_a_button_that_is_enabled_is_excluded(house: Inside) -> None:
    author, _ = await asked(house)
    await member(house, "friend", STAGE)
    (button,) = await ids_of(house, STAGE)
    await house.data("PATCH", f"/api/menu/{button}", {"enabled": False})

    await send(author, "PATCH", f"/api/menu/{button}", {"enabled": True})

    assert (await excluded(house))["friend"] == "codes"


async def test_a_role_in_a_table_excludes_like_an_edit(house: Inside) -> None:
    author, _ = await asked(house)
    await member(house, "friend", OF_ROLE)

    row = {"roleCode": "friend", "permissions": [OF_ROLE, STAGE]}
    await send(author, "POST", "/api/role/import", {"roles": [row]})

    assert await excluded(house) == {"friend": "codes"}


async def test_a_longer_assignment_excludes_and_a_shorter_one_does_not(house: Inside) -> None:
    author, _ = await asked(house)
    role_id = await role_with(house, "approvers", STAGE)
    friend = await member(house, "friend")
    body = {"roleId": role_id, "until": LATER}
    given = await house.data("POST", f"/api/user/{friend.user_id}/roles", body)
    path = f"/api/user/{friend.user_id}/roles/{given['id']}"

    await send(author, "PATCH", path, {"until": TOMORROW})
    assert await excluded(house) == {}
    await send(author, "PATCH", path, {"until": LATER})
    assert await excluded(house) == {"friend": "codes"}


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("PUT", "/password", {"newPassword": "quite long 4711"}),
        ("PATCH", "", {"email": "friend@example.com"}),
        ("PATCH", "", {"phone": "+49301234567"}),
        ("DELETE", "/factors", None),
        ("PUT", "/status", {"status": "enabled"}),
    ],
)
async def test_who_could_be_acted_for_by_the_author_is_excluded(
    house: Inside, method: str, path: str, body: Any
) -> None:
    author, _ = await asked(house)
    friend = await member(house, "friend", STAGE)

    await send(author, method, f"/api/user/{friend.user_id}{path}", body)

    assert await excluded(house) == {"friend": "credentials"}


async def test_another_name_takes_nothing_over(house: Inside) -> None:
    author, _ = await asked(house)
    friend = await member(house, "friend", STAGE)

    await send(author, "PATCH", f"/api/user/{friend.user_id}", {"nickName": "Ibis"})

    assert await excluded(house) == {}


@pytest.mark.parametrize("table", [False, True])
async def test_accounts_of_the_author_and_of_those_accounts_are_excluded(house: Inside, table: bool) -> None:
    author, _ = await asked(house)
    root = await role_with(house, "everything", "*")
    if table:
        row = {**EGRET, "roles": ["everything"]}
        await send(author, "POST", "/api/user/import", {"users": [row]})
    else:
        await send(author, "POST", "/api/user", EGRET | {"roleIds": [root]})
    await query(house, "UPDATE sys.user SET password_initial = NULL")
    egret = Member(house, 0, 0, "egret", await house.log_in("egret", str(EGRET["password"])))
    await send(egret, "POST", "/api/user", EGRET | {"userName": "stork", "nickName": "Stork"})

    assert await excluded(house) == {"egret": "account", "stork": "account"}


async def test_who_has_made_an_account_is_stored(house: Inside) -> None:
    egret = await house.data("POST", "/api/user", EGRET)

    assert await query(house, "SELECT made_by FROM sys.user WHERE id = %s", egret["id"]) == [(1,)]
    assert await query(house, "SELECT made_by FROM sys.user WHERE id = 1") == [(None,)]


async def test_a_dry_run_excludes_nobody(house: Inside) -> None:
    author, _ = await asked(house)
    role_id = await role_with(house, "approvers", STAGE)
    friend = await member(house, "friend")

    await send(author, "POST", f"/api/user/{friend.user_id}/roles?dryRun=true", {"roleId": role_id})
    await send(author, "PATCH", f"/api/user/{friend.user_id}?dryRun=true", {"email": "friend@example.com"})
    await send(author, "POST", "/api/user/import?dryRun=true", {"users": [EGRET]})

    assert await excluded(house) == {}


async def test_what_is_refused_excludes_nobody(house: Inside) -> None:
    author, _ = await asked(house)
    friend = await member(house, "friend")

    refused = await author.ask(
        "PATCH", f"/api/user/{friend.user_id}", {"email": "f@example.com", "roleIds": [0]}
    )

    assert (refused.status, await excluded(house)) == (422, {})


async def test_what_the_author_does_after_the_end_excludes_nobody(house: Inside) -> None:
    author, request_id = await asked(house)
    ended = "UPDATE sys.access_request SET state = 'cancelled', end_time = now() WHERE id = %s"
    await query(house, ended, request_id)
    friend = await member(house, "friend")

    await send(author, "PUT", f"/api/user/{friend.user_id}/password", {"newPassword": "quite long 4711"})

    assert await excluded(house) == {}


async def test_a_request_begins_without_all_accounts_that_descend_from_its_author(house: Inside) -> None:
    author, request_id = await asked(house)
    child, grandchild = await member(house, "child"), await member(house, "grandchild")
    await member(house, "stranger")
    made = "UPDATE sys.user SET made_by = %s WHERE id = %s"
    await query(house, made, author.user_id, child.user_id)
    await query(house, made, child.user_id, grandchild.user_id)
    # Whoever writes it: the search ends in a ring too.
    await query(house, made, grandchild.user_id, author.user_id)

    database = Database(house.database_url)
    async with database.transaction() as connection:
        await exclusions.begin(connection, author.user_id, request_id)
        stored = await request_exclusions.of_request(connection, request_id)
    await database.close()

    assert stored == {child.user_id: "account", grandchild.user_id: "account"}


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
    assert sum("sys.access_request_exclusion" in statement for statement in statements) == 2


async def key_of_program(house: Inside, maker: Member) -> Member:
    """Return a service account of the administrator that may do everything, by a key that ``maker`` made."""
    account = {"userName": "program", "nickName": "Program", "kind": "service"}
    user_id = (await house.data("POST", "/api/user", account))["id"]
    role_id = await role_with(house, "everything", "*")
    await house.data("POST", f"/api/user/{user_id}/roles", {"roleId": role_id})
    key = (await send(maker, "POST", f"/api/user/{user_id}/keys", {"name": "job"}))["key"]
    return Member(house, user_id, role_id, "program", key)


async def begun(house: Inside, author: Member, request_id: int) -> None:
    """Exclude from a request that was written past the service whom it would begin without."""
    database = Database(house.database_url)
    async with database.transaction() as connection:
        await exclusions.begin(connection, author.user_id, request_id)
    await database.close()


async def test_deleting_the_maker_of_an_account_hides_nobody_behind_it(house: Inside) -> None:
    author, request_id = await asked(house)
    child, grandchild = await member(house, "child"), await member(house, "grandchild")
    made = "UPDATE sys.user SET made_by = %s WHERE id = %s"
    await query(house, made, author.user_id, child.user_id)
    await query(house, made, child.user_id, grandchild.user_id)

    await house.data("DELETE", f"/api/user/{child.user_id}")
    await begun(house, author, request_id)

    assert await excluded(house) == {"grandchild": "account"}


async def test_an_account_made_by_the_operator_stays_of_its_maker_when_that_one_is_deleted(
    house: Inside,
) -> None:
    child, grandchild = await member(house, "child"), await member(house, "grandchild")
    await query(house, "UPDATE sys.user SET made_by = %s WHERE id = %s", child.user_id, grandchild.user_id)

    await house.data("DELETE", f"/api/user/{child.user_id}")

    stored = await query(house, "SELECT made_by FROM sys.user WHERE id = %s", grandchild.user_id)
    assert stored == [(child.user_id,)]


async def test_what_the_author_does_by_an_api_key_from_before_the_request_excludes(house: Inside) -> None:
    author, request_id = await asked(house)
    program = await key_of_program(house, author)
    await query(house, "DELETE FROM sys.access_request_exclusion")
    await begun(house, author, request_id)
    friend = await member(house, "friend", STAGE)

    await send(program, "PUT", f"/api/user/{friend.user_id}/password", {"newPassword": "quite long 4711"})
    await send(program, "POST", "/api/user", EGRET)

    assert await excluded(house) == {"program": "credentials", "friend": "credentials", "egret": "account"}


async def test_an_account_made_by_an_api_key_is_of_who_made_the_key(house: Inside) -> None:
    author = await member(house, "author", "*")
    program = await key_of_program(house, author)

    egret = await send(program, "POST", "/api/user", EGRET)

    assert await query(house, "SELECT made_by FROM sys.user WHERE id = %s", egret["id"]) == [
        (author.user_id,)
    ]


async def test_reading_the_factors_of_somebody_takes_nothing_over(house: Inside) -> None:
    author, _ = await asked(house)
    friend = await member(house, "friend", STAGE)

    await send(author, "GET", f"/api/user/{friend.user_id}/factors")

    assert await excluded(house) == {}


async def test_asking_and_withdrawing_look_at_nobodys_codes(
    house: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    author, request_id = await asked(house)
    looked: list[Any] = []

    async def grounds(*given: Any) -> list[Any]:
        looked.append(given)
        return []

    monkeypatch.setattr(request_exclusions, "grounds", grounds)
    await send(author, "DELETE", f"/api/access-request/{request_id}")

    assert looked == []


async def test_whom_the_author_has_invited_by_an_api_key_before_the_request_is_excluded(
    house: Inside,
) -> None:
    author, request_id = await asked(house)
    program = await key_of_program(house, author)
    guest = {"userName": "guest", "nickName": "Guest", "invite": True}
    user_id = (await house.data("POST", "/api/user", guest))["id"]
    await send(program, "POST", f"/api/user/{user_id}/invitation")
    await query(house, "DELETE FROM sys.access_request_exclusion")

    await begun(house, author, request_id)

    assert await excluded(house) == {"program": "credentials", "guest": "credentials"}


async def test_what_is_taken_over_by_an_api_key_is_taken_over_by_its_account_and_by_who_made_the_key(
    house: Inside,
) -> None:
    author, friend = await member(house, "author", "*"), await member(house, "friend")
    program = await key_of_program(house, author)
    await started(house, author)

    await send(program, "PUT", f"/api/user/{friend.user_id}/password", {"newPassword": "quite long 4711"})

    taken = await query(house, "SELECT user_id, by_id FROM sys.review_takeover")
    assert {*taken} == {(friend.user_id, each.user_id) for each in (author, program)}


@pytest.mark.parametrize("during", [True, False])
async def test_whom_the_holder_of_a_key_can_act_as_decides_nothing_about_the_account_of_the_key(
    house: Inside, *, during: bool
) -> None:
    maker, friend = await member(house, "maker", "*"), await member(house, "friend", *DECIDES)
    program = await key_of_program(house, maker)
    stranger = await member(house, "stranger", *DECIDES)
    review = await started(house, program) if during else None
    if during:
        new = {"newPassword": "quite long 4711"}
        await send(program, "PUT", f"/api/user/{friend.user_id}/password", new)
        await query(house, "UPDATE sys.user SET password_initial = NULL")
        friend.token = await house.log_in("friend", new["newPassword"])
    else:
        # A link that the key had made; it is mailed.
        await query(house, LINK, friend.user_id, maker.user_id, "1 hour")
        review = await started(house, program)
    (item,) = await items(house, review)

    refused = await decide(friend, review, item, "keep")

    assert (refused.status, refused.json["layer"], refused.json["required"]) == (403, "review", [])
    assert (await decide(stranger, review, item, "keep")).status == 200
