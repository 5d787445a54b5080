"""Nobody opens a resource to themselves that they do not reach, or binds a code that they do not hold."""

from typing import Any

import pytest

from tests.support.inside import Inside
from tests.support.members import Member, ids_of, member, query

POWERS = tuple(f"system:resource:{verb}" for verb in ("list", "create", "update", "delete", "bind"))
GUARDED = {
    "resourceName": "Read a report",
    "resourceCode": "report",
    "method": "GET",
    "path": "/api/report/{id}",
}


def guarded(name: str) -> dict[str, Any]:
    """Return a resource with a code and a path of its own."""
    return GUARDED | {"resourceCode": name, "path": f"/api/{name}/{{id}}"}


async def clerk_of(service: Inside) -> Member:
    """Return somebody who writes resources and holds one code besides."""
    return await member(service, "clerk", *POWERS, "system:user:list")


@pytest.fixture
async def clerk(service: Inside) -> Member:
    return await clerk_of(service)


@pytest.fixture(scope="module")
async def shared_clerk(shared: Inside) -> Member:
    return await clerk_of(shared)


async def bound(service: Inside, *codes: str, **changes: Any) -> int:
    """Register a resource that is bound to the Buttons of ``codes``."""
    made = await service.data("POST", "/api/resource", GUARDED | changes)
    path = f"/api/resource/{made['id']}/buttons"
    await service.data("PUT", path, {"menuIds": await ids_of(service, *codes)})
    number: int = made["id"]
    return number


async def state(service: Inside) -> list[Any]:
    rows = await query(service, "SELECT id, method, path, enabled FROM sys.resource ORDER BY id")
    return rows + await query(service, "SELECT * FROM sys.action_resource ORDER BY 1, 2")


def refused(answer: Any, *codes: str) -> bool:
    return (answer.status, answer.code, answer.json["required"]) == (403, "permission_denied", list(codes))


async def test_a_button_is_bound_and_unbound_only_by_who_holds_its_code(
    shared: Inside, shared_clerk: Member
) -> None:
    listing, deleting = await ids_of(shared, "system:user:list", "system:user:delete")
    resource = await bound(shared, "system:user:list", "system:user:delete", **guarded("both"))
    path = f"/api/resource/{resource}/buttons"
    before = await state(shared)

    takes = await shared_clerk.ask("PUT", path, {"menuIds": [listing]})
    takes_all = await shared_clerk.ask("PUT", path, {"menuIds": []})
    foreign = await shared_clerk.ask("PUT", f"/api/menu/{deleting}/resources", {"resourceIds": []})
    same = await shared_clerk.ask("PUT", path, {"menuIds": [deleting, listing]})

    assert [refused(answer, "system:user:delete") for answer in (takes, takes_all, foreign)] == [True] * 3
    assert (same.status, await state(shared)) == (200, before)
    less = await shared_clerk.ask("PUT", path, {"menuIds": [deleting]})
    assert less.status == 200


async def test_nobody_binds_a_code_of_theirs_to_a_resource_that_they_can_not_reach(
    shared: Inside, shared_clerk: Member
) -> None:
    listing, deleting = await ids_of(shared, "system:user:list", "system:user:delete")
    resource = await bound(shared, "system:user:delete", **guarded("foreign"))
    before = await state(shared)

    by_resource = await shared_clerk.ask(
        "PUT", f"/api/resource/{resource}/buttons", {"menuIds": [listing, deleting]}
    )
    by_button = await shared_clerk.ask("PUT", f"/api/menu/{listing}/resources", {"resourceIds": [resource]})

    assert refused(by_resource, "system:user:delete")
    assert refused(by_button, "system:user:delete")
    assert await state(shared) == before


async def test_holders_of_one_of_the_codes_may_add_what_they_hold(
    shared: Inside, shared_clerk: Member
) -> None:
    resource = await bound(shared, "system:user:list", "system:user:delete", **guarded("added"))
    listing, deleting, binding = await ids_of(
        shared, "system:user:list", "system:user:delete", "system:resource:bind"
    )

    by_resource = await shared_clerk.ask(
        "PUT", f"/api/resource/{resource}/buttons", {"menuIds": [listing, deleting, binding]}
    )
    by_button = await shared_clerk.ask("PUT", f"/api/menu/{binding}/resources", {"resourceIds": []})

    assert by_resource.json["data"]["menuIds"] == sorted([listing, deleting, binding])
    assert by_button.status == 200


async def test_a_resource_bound_to_disabled_buttons_only_is_reached_by_who_would_hold_one(
    service: Inside, clerk: Member
) -> None:
    resource = await bound(service, "system:user:delete")
    await query(service, "UPDATE sys.menu SET enabled = false WHERE auth_mark = 'system:user:delete'")

    answer = await clerk.ask("DELETE", f"/api/resource/{resource}")

    assert refused(answer, "system:user:delete")
    assert (await service.ask("DELETE", f"/api/resource/{resource}")).status == 200


async def test_a_bound_resource_is_moved_switched_and_deleted_only_by_who_reaches_it(
    shared: Inside, shared_clerk: Member
) -> None:
    values = guarded("moved")
    resource = await bound(shared, "system:user:delete", "system:user:update", **values)
    path = f"/api/resource/{resource}"
    before = await state(shared)

    for method, target, body in (
        ("PATCH", path, values | {"path": "/api/elsewhere"}),
        ("PATCH", path, values | {"method": "POST"}),
        ("PATCH", path, values | {"enabled": False}),
        ("PUT", f"{path}/enabled", {"enabled": False}),
        ("DELETE", path, None),
    ):
        assert refused(
            await shared_clerk.ask(method, target, body), "system:user:delete", "system:user:update"
        )
    named = await shared_clerk.ask(
        "PATCH", path, values | {"resourceName": "Other", "path": "/api/moved/{report}"}
    )

    assert named.status == 200
    assert await state(shared) == [
        (*row[:2], "/api/moved/{report}", row[3]) if row[0] == resource and len(row) == 4 else row
        for row in before
    ]
    await query(shared, "UPDATE sys.resource SET enabled = false WHERE id = %s", resource)
    assert (await shared_clerk.ask("PUT", f"{path}/enabled", {"enabled": True})).status == 403
    assert (await shared_clerk.ask("PUT", f"{path}/enabled", {"enabled": False})).status == 200


async def test_nobody_takes_requests_from_a_more_general_resource_that_they_can_not_reach(
    service: Inside, clerk: Member
) -> None:
    await bound(service, "system:user:delete")
    special = GUARDED | {"resourceCode": "special", "path": "/api/report/7"}

    assert refused(await clerk.ask("POST", "/api/resource", special), "system:user:delete")
    asleep = (await clerk.ask("POST", "/api/resource", special | {"enabled": False})).json["data"]
    woken = [
        await clerk.ask("PUT", f"/api/resource/{asleep['id']}/enabled", {"enabled": True}),
        await clerk.ask("PATCH", f"/api/resource/{asleep['id']}", special | {"enabled": True}),
    ]
    elsewhere = special | {"resourceCode": "elsewhere", "path": "/api/elsewhere"}
    free = (await clerk.ask("POST", "/api/resource", elsewhere)).json["data"]
    moved = await clerk.ask("PATCH", f"/api/resource/{free['id']}", elsewhere | {"path": "/api/report/8"})

    assert [refused(answer, "system:user:delete") for answer in (*woken, moved)] == [True] * 3
    for path in ("/api/report", "/api/report/7/x", "/api/{area}/{id}"):
        other = special | {"resourceCode": f"r{len(path)}", "path": path}
        assert (await clerk.ask("POST", "/api/resource", other)).status == 201


async def test_callers_who_reach_the_more_general_resource_may_take_requests_from_it(
    service: Inside, clerk: Member
) -> None:
    await bound(service, "system:user:list", "system:user:delete")
    await bound(service, "system:user:delete", resourceCode="wide", path="/api/{area}/{id}")

    answer = await clerk.ask(
        "POST", "/api/resource", GUARDED | {"resourceCode": "special", "path": "/api/report/7"}
    )

    assert answer.status == 201


async def test_a_new_resource_is_bound_only_to_buttons_whose_codes_the_caller_holds(
    shared: Inside, shared_clerk: Member
) -> None:
    listing, deleting = await ids_of(shared, "system:user:list", "system:user:delete")
    before = await state(shared)

    foreign = await shared_clerk.ask(
        "POST", "/api/resource", guarded("born-foreign") | {"menuIds": [listing, deleting]}
    )
    tried = await shared_clerk.ask(
        "POST", "/api/resource?dryRun=true", guarded("born") | {"menuIds": [listing]}
    )
    assert (foreign.status, foreign.code, await state(shared)) == (403, "permission_denied", before)
    assert (tried.status, await state(shared)) == (200, before)
    made = await shared_clerk.ask("POST", "/api/resource", guarded("born") | {"menuIds": [listing]})
    buttons = await shared.data("GET", f"/api/resource/{made.json['data']['id']}/buttons")
    assert (made.status, buttons["menuIds"]) == (201, [listing])


async def test_binding_with_the_registration_needs_the_permission_to_bind(shared: Inside) -> None:
    registering = await member(shared, "registrar", "system:resource:create", "system:user:list")
    (listing,) = await ids_of(shared, "system:user:list")

    bare = await registering.ask("POST", "/api/resource", guarded("bare") | {"menuIds": []})
    both = await registering.ask("POST", "/api/resource", guarded("both-at-once") | {"menuIds": [listing]})
    unknown = await shared.ask("POST", "/api/resource", guarded("unknown") | {"menuIds": [2**40]})

    assert (bare.status, both.status, both.code) == (201, 403, "permission_denied")
    assert (unknown.status, unknown.fields) == (422, ["menuIds[0]"])
