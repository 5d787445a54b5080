"""Nobody writes a Button whose code they do not hold, and a change takes effect at once."""

import asyncio
from typing import Any

import redis

from tests.menus.test_menus import BUTTON, PAGE, created, edit_of
from tests.support.cases import with_each
from tests.support.inside import Inside
from tests.support.members import Member, ids_of, member, query

POWERS = ("system:menu:list", "system:menu:create", "system:menu:update", "system:menu:delete")


async def button(service: Inside, code: str) -> dict[str, Any]:
    (number,) = await ids_of(service, code)
    menu: dict[str, Any] = await service.data("GET", f"/api/menu/{number}")
    return menu


async def state(service: Inside) -> list[Any]:
    return await query(
        service, "SELECT id, auth_mark, enabled, title, bit_position FROM sys.menu ORDER BY id"
    )


@with_each("code", ["*", "report:*", "report:list", "system:*:list", "system:user"])
async def test_a_code_is_created_only_by_who_holds_it(shared: Inside, code: str) -> None:
    clerk = await member(shared, f"clerk-{abs(hash(code))}", *POWERS)
    before = await state(shared)

    answer = await clerk.ask("POST", "/api/menu", BUTTON | {"authMark": code})

    assert (answer.status, answer.code, answer.json["required"]) == (403, "permission_denied", [code])
    assert await state(shared) == before


async def test_a_wildcard_creates_what_it_stands_for_and_nothing_else(shared: Inside) -> None:
    below = await member(shared, "below", "system:*")

    allowed = [
        await below.ask("POST", "/api/menu", BUTTON | {"authMark": code})
        for code in ("system:x:list", "system:x:*", "system:*:list")
    ]
    refused = await below.ask("POST", "/api/menu", BUTTON | {"authMark": "report:list"})

    assert [answer.status for answer in allowed] == [201, 201, 201]
    assert refused.status == 403
    # Nobody holds more for it: a role must give the Button first, and it takes the code to do that.
    assert await below.held() == {"system:*"}


async def test_a_button_is_touched_only_by_who_holds_its_code_before_and_after(shared: Inside) -> None:
    clerk = await member(shared, "toucher", *POWERS, "system:user:list")
    foreign, own = await button(shared, "system:user:delete"), await button(shared, "system:user:list")
    await created(shared, BUTTON, authMark="touched:list", enabled=False)
    disabled = await button(shared, "touched:list")
    before = await state(shared)

    for target, body, lacking in (
        (foreign, edit_of(foreign, enabled=False), "system:user:delete"),
        (foreign, edit_of(foreign, title="Innocent"), "system:user:delete"),
        (foreign, edit_of(foreign, authMark="system:menu:list2"), "system:user:delete"),
        (disabled, edit_of(disabled, enabled=True), "touched:list"),
        (own, edit_of(own, authMark="system:*"), "system:*"),
        (own, edit_of(own, authMark="report:edit"), "report:edit"),
    ):
        answer = await clerk.ask("PUT", f"/api/menu/{target['id']}", body)
        assert (answer.status, answer.json["required"]) == (403, [lacking])
    refused = await clerk.ask("DELETE", f"/api/menu/{disabled['id']}")

    assert (refused.status, refused.json["required"]) == (403, ["touched:list"])
    assert await state(shared) == before
    assert (await clerk.ask("POST", "/api/menu", PAGE)).status == 201
    title = await clerk.ask("PUT", f"/api/menu/{own['id']}", edit_of(own, title="All users"))
    assert title.json["data"]["title"] == "All users"


async def test_the_button_that_gives_everything_stays_as_long_as_it_makes_the_last_administrator(
    service: Inside,
) -> None:
    everything = await button(service, "*")
    path = f"/api/menu/{everything['id']}"

    for method, body in (
        ("PUT", edit_of(everything, enabled=False)),
        ("PUT", edit_of(everything, authMark="system:everything")),
        ("DELETE", None),
    ):
        answer = await service.ask(method, path, body)
        assert (answer.status, answer.code) == (409, "conflict")
    assert (await service.data("PUT", path, edit_of(everything, title="All")))["title"] == "All"
    assert (await service.ask("GET", "/api/user/info")).json["data"]["permissions"] == ["*"]


async def test_of_the_last_role_and_the_last_button_lost_at_once_one_stays(service: Inside) -> None:
    """Two administrators by two roles: one role is emptied while the Button of both is disabled."""
    everything = await button(service, "*")
    second = await member(service, "second", "*")
    for _ in range(5):
        done = await asyncio.gather(
            service.ask("PUT", f"/api/menu/{everything['id']}", edit_of(everything, enabled=False)),
            service.ask("PUT", f"/api/role/{second.role_id}/permissions", {"menuIds": []}),
        )
        assert [answer.status for answer in done] == [409, 200]
        await query(service, "INSERT INTO sys.role_menu VALUES (%s, %s)", second.role_id, everything["id"])


async def reading(service: Inside, name: str) -> tuple[Member, dict[str, Any]]:
    """Return somebody with a code of a Button that was made for the test, and that Button."""
    made = await created(service, BUTTON, authMark=f"{name}:list")
    return await member(service, name, f"{name}:list"), made


async def test_a_button_that_is_disabled_gives_nothing_from_the_next_request_on(shared: Inside) -> None:
    reader, reports = await reading(shared, "patient")
    path = f"/api/menu/{reports['id']}"

    await shared.data("PUT", path, edit_of(reports, enabled=False))
    assert (await reader.ask("GET", "/api/user/info")).code == "refresh_required"
    assert await reader.held() == set()
    await shared.data("PUT", path, edit_of(reports, enabled=True))

    assert (await reader.ask("GET", "/api/user/info")).code == "refresh_required"
    assert await reader.held() == {"patient:list"}


async def test_a_renamed_code_is_held_by_its_new_name_from_the_next_request_on(shared: Inside) -> None:
    reader, reports = await reading(shared, "renamed")

    await shared.data("PUT", f"/api/menu/{reports['id']}", edit_of(reports, authMark="renamed:read"))

    assert (await reader.ask("GET", "/api/user/info")).code == "refresh_required"
    assert await reader.held() == {"renamed:read"}


async def test_users_without_the_button_go_on(shared: Inside) -> None:
    reader, reports = await reading(shared, "calm")
    other = await created(shared, BUTTON, authMark="calm:edit")

    await shared.data("PUT", f"/api/menu/{other['id']}", edit_of(other, enabled=False))
    await shared.data("PUT", f"/api/menu/{reports['id']}", edit_of(reports, title="Other"))

    assert (await reader.ask("GET", "/api/user/info")).status == 200


async def test_an_old_token_is_never_read_as_holding_another_code(service: Inside, redis_url: str) -> None:
    """Even without its marker: the bits of the token mean what they meant, or nothing."""
    reader, old = await reading(service, "report")
    path = f"/api/menu/{old['id']}"
    await service.data("PUT", path, edit_of(old, authMark="report:read"))
    await created(service, BUTTON)  # the old name, and a Button of its own
    ((info,),) = await query(service, "SELECT id FROM sys.resource WHERE path = '/api/user/info'")
    names = ("report:list", "report:read")
    for code in names:
        await service.data("PUT", f"/api/resource/{info}/buttons", {"menuIds": await ids_of(service, code)})
        with redis.Redis.from_url(redis_url) as store:
            store.delete(f"auth:deny:{reader.user_id}")
        answer = await reader.ask("GET", "/api/user/info")
        assert (answer.status, answer.json["required"]) == (403, [code])
    assert await reader.log_in()
    assert (await reader.ask("GET", "/api/user/info")).json["data"]["permissions"] == ["report:read"]
