"""A whole Portcullis behind a proxy: who may do what is obeyed from the next request on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.inside import Inside, inside
from tests.support.members import ids_of, member, query
from tests.support.proxies import Front, Recorder, front
from tests.support.waiting import eventually_here
from tests.web.served import strictly_served

pytestmark = pytest.mark.anyio

CODE = "orders:order:read"
SERVICE = "INSERT INTO sys.service (name) VALUES ('orders')"
RESOURCE = (
    "INSERT INTO sys.resource (resource_code, resource_name, method, path, service)"
    " VALUES ('orders.read', 'Read an order', 'GET', '/orders/{id}', 'orders') RETURNING id"
)


async def register(service: Inside) -> None:
    """Register ``GET /orders/{id}`` of the service ``orders``, bound to a Button with ``CODE``."""
    body = {"menuType": "Button", "title": "Read orders", "authMark": CODE}
    button = await service.data("POST", "/api/menu", body)
    await query(service, SERVICE)
    ((resource,),) = await query(service, RESOURCE)
    await service.data("PUT", f"/api/resource/{resource}/buttons", {"menuIds": [button["id"]]})


async def key_of(service: Inside, name: str, bound_to: str | None, *codes: str) -> tuple[str, str]:
    """Make a service account that holds ``codes``; return a key of it, and the path of that key."""
    role = await service.data("POST", "/api/role", {"roleCode": name, "roleName": name})
    await service.data(
        "PUT", f"/api/role/{role['id']}/permissions", {"menuIds": await ids_of(service, *codes)}
    )
    body = {
        "userName": name,
        "nickName": name,
        "kind": "service",
        "service": bound_to,
        "roleIds": [role["id"]],
    }
    account = await service.data("POST", "/api/user", body)
    made = await service.data("POST", f"/api/user/{account['id']}/keys", {"name": "proxy"})
    return made["key"], f"/api/user/{account['id']}/keys/{made['id']}"


async def status(proxy: Front, token: str | None, line: str = "GET /orders/7") -> int:
    """Send a request; return its status, after a look that the service got it if it was allowed."""
    answer, served = await proxy.send(line, *([] if token is None else [f"Authorization: Bearer {token}"]))
    assert (served is not None) == (answer.status == 200)
    return answer.status


async def test_roles_keys_and_sessions_decide_from_the_next_request_on(
    seeded_database_url: str, redis_url: str, tmp_path: Path
) -> None:
    log = tmp_path / "decisions.jsonl"
    variables = {
        "PORTCULLIS_POLICY__DECISION_LOG": str(log),
        "PORTCULLIS_POLICY__DECISION_LOG_ALLOWS": "1",
    }
    async with inside(seeded_database_url, redis_url, **variables) as service:
        await register(service)
        key, place_of_key = await key_of(service, "proxy", "orders", "system:policy:evaluate")
        alice = await member(service, "alice")
        async with (
            strictly_served(service._app) as port,
            Recorder().running() as orders,
            front("caddy", tmp_path, port, orders, key=key) as proxy,
        ):
            assert await status(proxy, None) == 401
            assert await status(proxy, alice.token) == 403

            role = f"/api/role/{alice.role_id}/permissions"
            await service.data("PUT", role, {"menuIds": await ids_of(service, CODE)})
            assert await status(proxy, alice.token) == 401  # refresh_required
            await alice.log_in()
            assert await status(proxy, alice.token) == 200
            assert orders.served[0].values("x-portcullis-user-id") == [str(alice.user_id)]
            assert await status(proxy, alice.token, "DELETE /orders/7") == 403

            await service.data("PUT", role, {"menuIds": []})
            assert await status(proxy, alice.token) == 401
            await alice.log_in()
            assert await status(proxy, alice.token) == 403

            machine, _ = await key_of(service, "nightly", None, CODE)
            assert await status(proxy, machine) == 200
            assert await status(proxy, f"{machine[:-1]}x") == 401

            await service.data("DELETE", place_of_key)
            for token in (machine, None):
                assert await status(proxy, token) == 403

        def told() -> list[str]:
            lines = [json.loads(line) for line in log.read_bytes().splitlines()]
            return [one["reason"] for one in lines if one.get("object") == "orders GET /orders/{id}"]

        expected = ["not_logged_in", "not_held", "opened", "not_held", "opened"]
        assert await eventually_here(lambda: told() == expected), told()
        entries = await service.data("GET", "/api/operation-log/list?size=200")
        assert not [one["url"] for one in entries["items"] if one["url"].startswith("/access/")]
