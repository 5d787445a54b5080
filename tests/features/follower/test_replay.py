"""What was decided beside a service is logged, and decided again by another policy."""

import asyncio
from pathlib import Path

import httpx

from service.authz.engine.policy import Policy
from service.authz.engine.rules import ASSURANCE, RESOURCE, Rule
from service.features.decision_log.decision_log import DecisionLog, DecisionWriter, output_named
from service.features.follower.server import PdpApp
from service.features.policy_tests.replay import replay
from tests.features.follower.conftest import House


async def test_answers_are_logged_and_replayed(house: House, tmp_path: Path) -> None:
    role = await house.role("logged", house.buttons["orders:order:read"])
    await house.user("lola", role)
    file = tmp_path / "log"
    log = DecisionLog(DecisionWriter(output_named(file)), 1.0)
    log.start()
    async with house.follower(house.evaluator) as follower:
        await follower.renew()
        http = httpx.AsyncClient(
            transport=httpx.ASGITransport(PdpApp(follower, log)), base_url="http://localhost"
        )
        async with http:
            for path in ("/orders/7", "/orders/secret-name", "/orders/{id}", "/nowhere"):
                for method in ("GET", "POST"):
                    question = {
                        "subject": {"type": "user", "id": "lola"},
                        "action": {"name": method},
                        "resource": {"type": "route", "id": path},
                    }
                    await http.post("/access/v1/evaluation", json=question)
            code = {"type": "permission", "id": "orders:order:write"}
            await http.post("/access/v1/evaluation", json=question | {"resource": code})
        await log.finish()
        policy = follower.point.state.policy
        assert policy is not None
        lines = (await asyncio.to_thread(file.read_bytes)).splitlines(keepends=True)
    assert len(lines) == 9
    assert b"secret-name" not in b"".join(lines)
    same = replay(policy, lines)
    assert (same.differing, same.unreadable) == (0, 0)
    assert same.events == 4, "those about registered routes, and the code"
    closed = Policy(
        policy.model_text,
        [
            line
            for line in policy.rules
            if line != Rule(RESOURCE, "orders GET /orders/{id}", "orders:order:read")
        ]
        + [Rule(RESOURCE, "orders GET /orders/{id}", "orders:order:write")],
        revision=policy.revision + 1,
    )
    other = replay(closed, lines)
    assert [(group.was, group.object, group.events) for group in other.groups] == [
        ("allow", "orders GET /orders/{id}", 3)
    ]
    demanding = Policy(
        policy.model_text,
        [line for line in policy.rules if line.object != "resource orders GET /orders/{id}"]
        + [Rule(ASSURANCE, "resource orders GET /orders/{id}", "@two-factors")],
        revision=policy.revision + 1,
    )
    assert [group.layer for group in replay(demanding, lines).groups] == [ASSURANCE]
