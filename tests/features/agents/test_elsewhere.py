"""Tokens of agents in AuthZEN evaluations, in forward authentication, and in the example."""

import asyncio
import importlib.util
import io
from typing import Any

from tests.features.agents.conftest import APPROVALS, LIST, agent_of, delegated
from tests.features.service_accounts.conftest import Workers
from tests.support.members import ids_of, member, query
from tests.support.running import ROOT
from tests.web.driver import Answer, ask

UPDATE = "system:role:update"
SITE = "http://portcullis.example"


async def evaluated(workers: Workers, token: str, resource: dict[str, Any], action: str = "use") -> Any:
    """Ask the administrator's question about the holder of ``token``."""
    question = {
        "subject": {"type": "token", "id": token},
        "action": {"name": action},
        "resource": resource,
    }
    answer = await workers.second.ask("POST", "/access/v1/evaluation", question)
    assert answer.status == 200, answer.body
    return answer.json["decision"]


async def test_evaluations_about_a_token_ask_all_three_and_know_its_services(workers: Workers) -> None:
    agent = await agent_of(workers, LIST, UPDATE)
    person = await member(workers.first, "uma", LIST, UPDATE)
    number = await delegated(person, agent, "system:role:*", askMe=[UPDATE])
    token = await agent.token(number)
    permissions = {code: {"type": "permission", "id": code} for code in (LIST, UPDATE, "system:user:list")}
    answers = {code: await evaluated(workers, token, asked) for code, asked in permissions.items()}
    assert answers == {LIST: True, UPDATE: False, "system:user:list": False}
    route = {"type": "route", "id": "/api/role/list"}
    assert await evaluated(workers, token, route, "GET")
    elsewhere = {"type": "route", "id": "/anything", "properties": {"service": "orders"}}
    assert not await evaluated(workers, token, elsewhere, "GET")
    assert (await person.ask("DELETE", f"/api/user/profile/delegations/{number}")).status == 200
    assert not await evaluated(workers, token, permissions[LIST])


async def test_a_proxy_lets_no_agent_pass_to_a_service_that_is_not_delegated(workers: Workers) -> None:
    agent = await agent_of(workers, LIST)
    person = await member(workers.first, "val", LIST)
    token = await agent.token(await delegated(person, agent, LIST))
    proxy = await workers.key(await workers.account("system:policy:evaluate"))

    async def forwarded(credentials: str) -> Answer:
        headers = {
            "X-Portcullis-Key": proxy,
            "X-Original-Method": "GET",
            "X-Original-URI": "/orders/7",
            "X-Original-Host": "orders.example.com",
            "Authorization": f"Bearer {credentials}",
        }
        path = "/access/v1/forward/nginx/orders"
        return await workers.first.as_anonymous("GET", path, *headers.items())

    refused = await forwarded(token)
    assert (refused.status, refused.json["layer"]) == (403, "account"), refused.body
    # The person is refused by the resource: nothing is registered there.
    assert (await forwarded(person.token)).json["layer"] == "resource"


READ_ORDERS = "orders:order:read"


async def test_a_proxy_answers_a_call_to_approve_with_the_link_and_uses_the_approval_once(
    workers: Workers,
) -> None:
    first = workers.first
    await first.data("POST", "/api/service", {"name": "orders"})
    await query(
        first,
        "INSERT INTO sys.menu (menu_type, title, auth_mark) VALUES ('Button', 'Read', %s)",
        READ_ORDERS,
    )
    await first.data("POST", "/api/policy/reload")
    (button,) = await ids_of(first, READ_ORDERS)
    for method in ("GET", "POST"):
        resource = {
            "service": "orders",
            "resourceCode": f"orders-{method.lower()}",
            "resourceName": method,
            "method": method,
            "path": "/orders/{id}",
        }
        made = await first.data("POST", "/api/resource", resource)
        await first.data("PUT", f"/api/resource/{made['id']}/buttons", {"menuIds": [button]})
    agent = await agent_of(workers, READ_ORDERS)
    person = await member(first, "xia", READ_ORDERS)
    order = {"services": ["orders"], "askMe": [READ_ORDERS]}
    token = await agent.token(await delegated(person, agent, READ_ORDERS, **order))
    proxy = await workers.key(await workers.account("system:policy:evaluate"))

    async def forwarded(method: str, uri: str, by: str = token) -> Answer:
        headers = {
            "X-Portcullis-Key": proxy,
            "X-Original-Method": method,
            "X-Original-URI": uri,
            "X-Original-Host": "orders.example.com",
            "Authorization": f"Bearer {by}",
        }
        path = "/access/v1/forward/nginx/orders"
        return await workers.second.as_anonymous("GET", path, *headers.items())

    assert (await forwarded("GET", "/orders/7", person.token)).status == 200
    refused = await forwarded("GET", "/orders/7?full=1")
    assert (refused.status, refused.code) == (403, "approval_required"), refused.body
    link = refused.json["link"]
    assert dict(refused.headers)["x-portcullis-approval"] == link
    (waiting,) = (await person.ask("GET", APPROVALS)).json["data"]["items"]
    shown = (waiting["method"], waiting["path"], waiting["query"], waiting["body"])
    assert shown == ("GET", "orders /orders/7", "full=1", None)
    decision = {"decision": "once", "digest": waiting["digest"]}
    decided = await person.ask("POST", f"{APPROVALS}/{link.rpartition('/')[2]}", decision)
    assert decided.status == 200, decided.body
    for other in ("/orders/7", "/orders/8?full=1", "/orders/7?full=2"):
        assert (await forwarded("GET", other)).code == "approval_required"
    statuses = sorted(
        answer.status
        for answer in await asyncio.gather(*(forwarded("GET", "/orders/7?full=1") for _ in range(4)))
    )
    assert statuses == [200, 403, 403, 403]

    async def by_envoy(uri: str) -> Answer:
        headers = {
            "X-Portcullis-Key": proxy,
            "Host": "orders.example.com",
            "Authorization": f"Bearer {token}",
        }
        return await workers.first.as_anonymous(
            "GET", f"/access/v1/forward/envoy/orders{uri}", *headers.items()
        )

    refused = await by_envoy("/orders/9?full=1")
    assert (await by_envoy("/orders/9?full=2")).json["approval"] != refused.json["approval"]
    assert (await forwarded("GET", "/orders/9?full=1")).json["approval"] == refused.json["approval"]
    # The proxy does not send the body, so an approval could not be for exactly that call.
    unseen = await forwarded("POST", "/orders/7")
    assert (unseen.status, unseen.code) == (403, "permission_denied")
    assert "does not send its body" in unseen.json["detail"]
    # What the person can't do is not put before the person.
    waiting_before = len((await person.ask("GET", APPROVALS)).json["data"]["items"])
    await first.data("PUT", f"/api/role/{person.role_id}/permissions", {"menuIds": []})
    assert (await forwarded("GET", "/orders/9")).code == "permission_denied"
    await person.log_in()
    assert len((await person.ask("GET", APPROVALS)).json["data"]["items"]) == waiting_before


async def test_the_example_lists_roles_for_the_person(workers: Workers) -> None:
    agent = await agent_of(workers, LIST)
    person = await member(workers.first, "wim", LIST)
    number = await delegated(person, agent, LIST)
    path = ROOT / "docs/examples/agent/agent.py"
    assert len(path.read_text("utf-8").splitlines()) <= 40
    spec = importlib.util.spec_from_file_location("agent", path)
    assert spec is not None
    assert spec.loader is not None
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    loop = asyncio.get_running_loop()

    def urlopen(request: Any) -> io.BytesIO:
        """Send the request of the example to the service in this process."""
        headers = [*request.header_items()]
        if request.data is not None:  # as urllib does
            headers.append(("Content-Type", "application/x-www-form-urlencoded"))
        target = request.full_url.removeprefix(SITE)
        sent = ask(workers.first._app, request.get_method(), target, *headers, body=request.data or b"")
        answer = asyncio.run_coroutine_threadsafe(sent, loop).result(20)
        assert answer.status == 200, answer.body
        return io.BytesIO(answer.body)

    vars(example)["urlopen"] = urlopen
    key = (SITE, agent.account.name, agent.key, str(number))
    token = await asyncio.to_thread(example.exchanged, *key)
    assert "Administrator" in await asyncio.to_thread(example.role_names, SITE, token)
