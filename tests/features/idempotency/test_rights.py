"""Each repetition is authenticated and authorized anew, and changes nothing that the logs could tell."""

from tests.features.idempotency.keyed import key, new, was_replayed
from tests.support.inside import Inside
from tests.users.people import caller, execute, new_role


def take(service: Inside, role: str, code: str) -> None:
    """Take a permission from a role behind the back of the service, so that tokens still have it."""
    execute(
        service,
        "DELETE FROM sys.role_menu USING sys.role, sys.menu WHERE role_id = role.id AND menu_id = menu.id "
        "AND role_code = %s AND auth_mark = %s",
        role,
        code,
    )


async def test_a_caller_without_a_token_gets_no_kept_answer(shared: Inside) -> None:
    body, mine = new("/api/role"), key()
    await shared.data("POST", "/api/role", body, mine)
    assert (await shared.as_anonymous("POST", "/api/role", mine)).code == "unauthenticated"


async def test_a_caller_who_may_no_longer_create_gets_no_kept_answer(shared: Inside) -> None:
    token = await caller(shared, "stork", "system:role:create")
    body, mine = new("/api/role"), key()
    first = await shared.ask("POST", "/api/role", body, mine, token=token)
    take(shared, "role-of-stork", "system:role:create")
    ((stork,),) = execute(shared, "SELECT id FROM sys.user WHERE user_name = 'stork'")
    await shared.data("PUT", f"/api/user/{stork}/password", {"newPassword": "six wary herons"})

    old = await shared.ask("POST", "/api/role", body, mine, token=token)
    token = await shared.log_in("stork", "six wary herons")
    denied = await shared.ask("POST", "/api/role", body, mine, token=token)

    assert (first.status, old.status) == (201, 401)
    assert (denied.code, denied.json["layer"]) == ("permission_denied", "resource")


async def test_a_caller_who_may_no_longer_give_a_role_gets_no_kept_answer(shared: Inside) -> None:
    given = new_role(shared, "banning", "system:online:ban")
    token = await caller(shared, "crane", "system:user:create", "system:online:ban")
    body, mine = new("/api/user") | {"roleIds": [given]}, key()
    first = await shared.ask("POST", "/api/user", body, mine, token=token)
    again = await shared.ask("POST", "/api/user", body, mine, token=token)

    take(shared, "role-of-crane", "system:online:ban")
    denied = await shared.ask("POST", "/api/user", body, mine, token=token)

    assert (first.status, again.body) == (201, first.body)
    assert (denied.code, denied.json["layer"]) == ("permission_denied", "grant")
    assert denied.json["required"] == ["system:online:ban"]


async def test_a_caller_who_may_no_longer_grant_a_code_gets_no_kept_answer(shared: Inside) -> None:
    token = await caller(shared, "ibis", "system:menu:create", "*")
    body, mine = new("/api/menu"), key()
    first = await shared.ask("POST", "/api/menu", body, mine, token=token)
    again = await shared.ask("POST", "/api/menu", body, mine, token=token)

    take(shared, "role-of-ibis", "*")
    denied = await shared.ask("POST", "/api/menu", body, mine, token=token)

    assert (first.status, again.body) == (201, first.body)
    assert (denied.code, denied.json["layer"]) == ("permission_denied", "grant")


async def test_a_caller_who_may_no_longer_bind_a_button_gets_no_kept_answer(shared: Inside) -> None:
    ((banning,),) = execute(shared, "SELECT id FROM sys.menu WHERE auth_mark = 'system:online:ban'")
    powers = ("system:resource:create", "system:resource:bind", "system:online:ban")
    for name, lost, layer in (("dunlin", powers[1], "endpoint"), ("knot", powers[2], "grant")):
        token = await caller(shared, name, *powers)
        body, mine = new("/api/resource") | {"menuIds": [banning]}, key()
        first = await shared.ask("POST", "/api/resource", body, mine, token=token)
        again = await shared.ask("POST", "/api/resource", body, mine, token=token)

        take(shared, f"role-of-{name}", lost)
        denied = await shared.ask("POST", "/api/resource", body, mine, token=token)

        assert (first.status, again.body) == (201, first.body)
        assert (denied.code, denied.json.get("layer")) == ("permission_denied", layer), denied.body


async def test_a_caller_who_has_been_disabled_meanwhile_gets_no_kept_answer(shared: Inside) -> None:
    token = await caller(shared, "egret", "system:role:create")
    body, mine = new("/api/role"), key()
    await shared.ask("POST", "/api/role", body, mine, token=token)
    execute(shared, "UPDATE sys.user SET status = 'disabled' WHERE user_name = 'egret'")

    assert (await shared.ask("POST", "/api/role", body, mine, token=token)).code == "refresh_required"


async def test_keys_go_with_their_user(shared: Inside) -> None:
    token = await caller(shared, "heron", "system:role:create")
    assert not was_replayed(await shared.ask("POST", "/api/role", new("/api/role"), key(), token=token))
    ((heron,),) = execute(shared, "SELECT id FROM sys.user WHERE user_name = 'heron'")
    kept = "SELECT count(*) FROM sys.idempotency_key WHERE user_id = %s"
    before = execute(shared, kept, heron)

    await shared.data("DELETE", f"/api/user/{heron}")

    assert (before, execute(shared, kept, heron)) == ([(1,)], [(0,)])
