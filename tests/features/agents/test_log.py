"""Entries of the operation log about calls of agents name the person and the agent."""

from tests.features.agents.conftest import agent_of, delegated
from tests.features.service_accounts.conftest import Workers
from tests.support.members import member, query, until_row

CODE = "system:user:update"


async def test_an_entry_has_person_and_agent_and_is_found_by_both(workers: Workers) -> None:
    agent = await agent_of(workers, CODE)
    person = await member(workers.first, "sue", CODE)
    token = await agent.token(await delegated(person, agent, CODE))
    other = await member(workers.first, "sid")
    path = f"/api/user/{other.user_id}"
    changed = await workers.first.ask("PATCH", path, {"nickName": "Sid"}, token=token)
    assert changed.status == 200, changed.body
    rows = "SELECT user_id, device FROM sys.operation_log"
    await until_row(workers.first, rows, (person.user_id, f"agent:{agent.id}"))
    for chosen in (f"agentId={agent.id}", f"agentId={agent.id}&userId={person.user_id}"):
        (entry,) = (await workers.first.data("GET", f"/api/operation-log/list?{chosen}"))["items"]
        assert (entry["userName"], entry["device"], entry["action"]) == ("sue", f"agent:{agent.id}", "update")
    not_hers = f"agentId={agent.id}&userId=1"
    assert (await workers.first.data("GET", f"/api/operation-log/list?{not_hers}"))["items"] == []


async def test_the_name_of_an_agent_enters_no_line_of_the_log(workers: Workers) -> None:
    agent = await agent_of(workers, CODE)
    name = 'x", "user_name": "admin'
    await query(workers.first, "UPDATE sys.user SET nick_name = %s WHERE id = %s", name, agent.id)
    person = await member(workers.first, "tom", CODE)
    token = await agent.token(await delegated(person, agent, CODE))
    other = await member(workers.first, "tim")
    await workers.first.ask("PATCH", f"/api/user/{other.user_id}", {"nickName": "Tim"}, token=token)
    rows = "SELECT user_id, device FROM sys.operation_log"
    await until_row(workers.first, rows, (person.user_id, f"agent:{agent.id}"))
    lines = await query(
        workers.first,
        "SELECT row_to_json(log)::text FROM sys.operation_log log WHERE device = %s",
        f"agent:{agent.id}",
    )
    assert lines
    assert [line for (line,) in lines if "admin" in line] == []
