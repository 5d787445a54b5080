"""``portcullis agent``: the operator lists agents and switches them, beside running workers."""

import asyncio
import json
from pathlib import Path

from tests.features.agents.conftest import LIST, agent_of, delegated
from tests.features.service_accounts.conftest import Workers
from tests.support.members import member, query
from tests.support.running import Ended, portcullis

SECRET = "hinges-2-portals-7-winches-4-chains-9"


async def test_the_operator_switches_agents_in_force_at_once_on_every_worker(
    workers: Workers, tmp_path: Path
) -> None:
    service = workers.first
    stores = {"DATABASE_URL": service.database_url, "REDIS_URL": service.redis_url, "JWT_SECRET": SECRET}

    async def run(*words: str) -> Ended:
        return await asyncio.to_thread(portcullis, tmp_path, "agent", *words, **stores)

    agent = await agent_of(workers, LIST)
    person = await member(service, "jan", LIST)
    token = await agent.token(await delegated(person, agent, LIST))
    assert await workers.statuses(token) == [200, 200]
    off = await run("switch", agent.account.name.upper(), "off")
    assert off.status == 0, off
    assert await workers.statuses(token) == [401, 401]
    (listed,) = [
        each
        for each in json.loads((await run("list", "--json")).output)["items"]
        if each["userName"] == agent.account.name
    ]
    assert (listed["enabled"], listed["suspended"]) == (False, False)
    assert (await run("switch", agent.account.name, "on")).status == 0
    assert await workers.statuses(token) == [200, 200]

    assert (await run("switch", "--all", "off")).status == 0
    assert await workers.statuses(token) == [401, 401]
    assert "The switch of all agents is off." in (await run("list")).output
    assert (await run("switch", "--all", "on")).status == 0
    assert await workers.statuses(token) == [200, 200]

    entries = "SELECT action, targets FROM sys.operation_log WHERE method = 'CLI' ORDER BY create_time, id"
    actions = [action for action, _ in await query(service, entries)]
    assert actions == ["switch an agent"] * 2 + ["switch all agents"] * 2
    for wrong in (["switch", "nobody", "off"], ["switch", "off"], ["switch", "--all", "half"]):
        assert (await run(*wrong)).status != 0, wrong
