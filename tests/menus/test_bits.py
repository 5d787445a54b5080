"""A bit of a token never opens another code than the one that it was issued for."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from service.kernel.permission_map import PermissionMap
from service.records.published import bit_positions
from tests.sessions.site import part_of
from tests.support.inside import Inside
from tests.support.members import member, query


async def button(service: Inside, code: str) -> Any:
    ((page,),) = await query(service, "SELECT min(id) FROM sys.menu WHERE menu_type = 'Menu'")
    body = {"menuType": "Button", "parentId": page, "title": "Target", "authMark": code}
    return await service.data("POST", "/api/menu", body)


async def renamed(service: Inside, menu: Any, code: str) -> Any:
    body = {"parentId": menu["parentId"], "title": "Target", "authMark": code}
    return (await service.ask("PATCH", f"/api/menu/{menu['id']}", body)).json.get("data")


async def position(service: Inside, code: str) -> int:
    ((bit,),) = await query(service, "SELECT bit_position FROM sys.menu WHERE auth_mark = %s", code)
    return int(bit)


async def eventually(holds: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(20):
        while not await holds():  # noqa: ASYNC110 - no event tells what a worker has reported
            await asyncio.sleep(0.05)


async def reported(service: Inside) -> bool:
    """Tell whether the worker has reported the newest revision."""
    rows = await query(
        service,
        "SELECT min(revision) >= (SELECT max(revision) FROM sys.policy_revision) FROM sys.policy_worker",
    )
    return bool(rows[0][0])


def bits_of(token: str) -> str:
    return str(part_of(token, 1)["pb"])


async def test_an_old_token_means_nothing_new_until_its_position_is_given_again_and_then_it_is_refused(
    service: Inside,
) -> None:
    first = await button(service, "bits:first")
    old = await position(service, "bits:first")
    heron = await member(service, "heron", "bits:first")
    assert PermissionMap({"bits:first": old}).encode(["bits:first"]) == bits_of(heron.token)

    await renamed(service, first, "bits:second")
    await button(service, "bits:third")
    assert old not in {await position(service, code) for code in ("bits:second", "bits:third")}

    # As if twelve hours had passed; the one token that is left is one that nobody waited for.
    await query(service, "UPDATE sys.retired_bit SET free_time = now()")
    await eventually(lambda: reported(service))
    await button(service, "bits:fourth")
    assert await position(service, "bits:fourth") == old
    assert (await heron.ask("GET", "/api/user/info")).code == "refresh_required"
    assert await heron.held() == {"bits:second"}


async def test_a_worker_that_is_behind_keeps_positions_from_being_given_again(service: Inside) -> None:
    first = await button(service, "bits:first")
    old = await position(service, "bits:first")
    await query(service, "INSERT INTO sys.policy_worker (worker, revision) VALUES ('behind', 1)")
    await renamed(service, first, "bits:second")
    await query(service, "UPDATE sys.retired_bit SET free_time = now()")
    await eventually(lambda: _own_report(service))

    await button(service, "bits:third")
    assert await position(service, "bits:third") != old

    await query(service, "DELETE FROM sys.policy_worker WHERE worker = 'behind'")
    await button(service, "bits:fourth")
    assert await position(service, "bits:fourth") == old


async def _own_report(service: Inside) -> bool:
    rows = await query(
        service,
        "SELECT max(revision) >= (SELECT max(revision) FROM sys.policy_revision) FROM sys.policy_worker",
    )
    return bool(rows[0][0])


async def test_a_token_has_the_positions_that_are_stored_whatever_map_the_worker_has(
    service: Inside,
) -> None:
    await button(service, "bits:first")
    # Past the service: its worker goes on with the map that it has.
    await query(service, "UPDATE sys.menu SET bit_position = 4711 WHERE auth_mark = 'bits:first'")

    heron = await member(service, "heron", "bits:first")

    assert PermissionMap({"bits:first": 4711}).encode(["bits:first"]) == bits_of(heron.token)


async def test_renames_in_a_loop_end_with_a_refusal_that_says_when(
    service: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bit_positions, "OF_USER", 5)
    first = await button(service, "bits:0")
    before = await position(service, "bits:0")
    for number in range(1, 6):
        assert await renamed(service, first, f"bits:{number}")

    body = {"parentId": first["parentId"], "title": "Target", "authMark": "bits:6"}
    refused = await service.ask("PATCH", f"/api/menu/{first['id']}", body)
    kept = await service.ask(
        "PATCH", f"/api/menu/{first['id']}", body | {"authMark": "bits:5", "title": "New"}
    )

    assert (refused.status, refused.code) == (429, "rate_limited")
    assert 12 * 3600 < int(refused.header("Retry-After") or 0) < 13 * 3600
    assert kept.status == 200
    assert await position(service, "bits:5") == before + 5


async def test_a_deleted_button_makes_its_position_wait(service: Inside) -> None:
    first = await button(service, "bits:first")
    old = await position(service, "bits:first")
    await service.data("DELETE", f"/api/menu/{first['id']}")

    await button(service, "bits:second")

    assert await position(service, "bits:second") == old + 1
    ((waits, who),) = await query(
        service,
        "SELECT free_time > now() + interval '12 hours', user_id FROM sys.retired_bit WHERE position = %s",
        old,
    )
    assert (waits, who) == (True, 1)
