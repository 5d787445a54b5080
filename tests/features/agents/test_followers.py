"""Followers refuse tokens of agents, whatever the hub answers: they follow no delegations."""

import httpx

from service.features.follower.server import PdpApp
from tests.features.agents.conftest import DELEGATION, DELEGATIONS, EXCHANGE
from tests.features.follower.conftest import House
from tests.features.follower.conftest import house as house  # noqa: PLC0414 - a fixture
from tests.features.follower.test_tokens import asked, hub_reason
from tests.support.members import member

READ = "orders:order:read"


async def test_a_follower_rejects_the_token_of_an_agent_and_the_hub_decides(house: House) -> None:
    hub = house.hub
    agent_role = await house.role("acting", house.buttons[READ])
    agent_id, key = await house.account("acting-agent", agent_role)
    await house.data("PUT", f"/api/agent/{agent_id}", {"ownerId": 1})
    person = await member(hub, "zoe", READ)
    order = {"agentId": agent_id, "codes": [READ], "services": ["orders"], "expiresIn": 600}
    made = await person.ask("POST", DELEGATIONS, order)
    assert made.status == 201, made.body
    form = {
        "grant_type": EXCHANGE,
        "client_id": "acting-agent",
        "client_secret": key,
        "subject_token": str(made.json["data"]["id"]),
        "subject_token_type": DELEGATION,
    }
    token = (await hub.as_anonymous_form("/oauth/token", form)).json["access_token"]
    assert await hub_reason(house, token) == "opened"
    async with house.following(house.evaluator, hosts=("localhost",)) as follower:
        assert follower.point.evaluate(asked(person.token)).allowed
        answer = follower.point.evaluate(asked(token))
        assert (answer.allowed, answer.reason) == (False, "subject_not_active")
        assert follower.point.identify(token) is None
        transport = httpx.ASGITransport(PdpApp(follower))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as beside:
            headers = {
                "X-Original-Method": "GET",
                "X-Original-URI": "/orders/7",
                "X-Original-Host": "localhost",
                "Authorization": f"Bearer {token}",
            }
            refused = await beside.get("/access/v1/forward/nginx/orders", headers=headers)
            assert (refused.status_code, refused.json()["code"]) == (401, "token_invalid")
            headers["Authorization"] = f"Bearer {person.token}"
            assert (await beside.get("/access/v1/forward/nginx/orders", headers=headers)).status_code == 200
