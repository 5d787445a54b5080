"""A whole Portcullis behind a proxy: who may do what is obeyed from the next request on."""

import json
import re
from pathlib import Path

from tests.docs.blocks import parsed
from tests.docs.pages import ROOT, between
from tests.support.inside import Inside, all_decisions
from tests.support.inside_fixtures import ServiceWith
from tests.support.members import member
from tests.support.proxies import Front, Recorder, front
from tests.support.waiting import eventually_here
from tests.web.served import strictly_served

CODE = "orders:order:read"
GUIDE = ROOT / "docs" / "guides" / "guard-a-service.md"
MADE = {"/api/menu": "BUTTON", "/api/resource": "RESOURCE", "/api/role": "ROLE", "/api/user": "USER"}


async def set_up(service: Inside) -> tuple[str, str]:
    """Send the requests of the guide; return the key of the proxy, and its path."""
    (block,) = parsed(between(GUIDE.read_text(encoding="utf-8"), "setup"))
    ids: dict[str, str] = {}
    for request in block.text.split("\n\n"):
        line, body = re.sub(r"\b[A-Z]{4,}\b", lambda word: ids.get(word[0], word[0]), request).split("\n", 1)
        method, path = line.split()
        answer = await service.data(method, path, json.loads(body))
        if path in MADE:
            ids[MADE[path]] = str(answer["id"])
    return answer["key"], f"{path}/{answer['id']}"


async def key_of(service: Inside, name: str, *codes: str) -> str:
    """Make a service account that holds ``codes``, bound to no service; return a key of it."""
    role = {"roleCode": name, "roleName": name, "permissions": codes}
    role_id = (await service.data("POST", "/api/role", role))["id"]
    account = {"userName": name, "nickName": name, "kind": "service", "roleIds": [role_id]}
    user_id = (await service.data("POST", "/api/user", account))["id"]
    key: str = (await service.data("POST", f"/api/user/{user_id}/keys", {"name": "job"}))["key"]
    return key


async def status(proxy: Front, token: str | None, line: str = "GET /orders/7") -> int:
    """Send a request; return its status, after a look that the service got it if it was allowed."""
    answer, served = await proxy.send(line, *([] if token is None else [f"Authorization: Bearer {token}"]))
    assert (served is not None) == (answer.status == 200)
    return answer.status


async def test_roles_keys_and_sessions_decide_from_the_next_request_on(
    service_with: ServiceWith, tmp_path: Path
) -> None:
    log = tmp_path / "decisions.jsonl"
    variables = all_decisions(log)
    async with service_with(**variables) as service:
        key, place_of_key = await set_up(service)
        alice = await member(service, "alice")
        async with (
            strictly_served(service._app) as port,
            Recorder().running() as orders,
            front("caddy", tmp_path, port, orders, key=key) as proxy,
        ):
            assert await status(proxy, None) == 401
            assert await status(proxy, alice.token) == 403

            role = f"/api/role/{alice.role_id}/permissions"
            await service.data("PUT", role, {"permissions": [CODE]})
            assert await status(proxy, alice.token) == 401  # refresh_required
            await alice.log_in()
            assert await status(proxy, alice.token) == 200
            assert orders.served[0].values("x-portcullis-user-id") == [str(alice.user_id)]
            assert await status(proxy, alice.token, "DELETE /orders/7") == 403

            await service.data("PUT", role, {"permissions": []})
            assert await status(proxy, alice.token) == 401
            await alice.log_in()
            assert await status(proxy, alice.token) == 403

            machine = await key_of(service, "nightly", CODE)
            assert await status(proxy, machine) == 200
            assert await status(proxy, machine[:-1] + ("x" if machine[-1] != "x" else "y")) == 401

            await service.data("DELETE", place_of_key)
            for token in (machine, None):
                assert await status(proxy, token) == 403

        def logged_reasons() -> list[str]:
            lines = [json.loads(line) for line in log.read_bytes().splitlines()]
            return [item["reason"] for item in lines if item.get("object") == "orders GET /orders/{id}"]

        expected = ["not_logged_in", "not_held", "opened", "not_held", "opened"]
        assert await eventually_here(lambda: logged_reasons() == expected), logged_reasons()
        entries = await service.data("GET", "/api/operation-log/list?size=200")
        assert not [entry["url"] for entry in entries["items"] if entry["url"].startswith("/access/")]
