"""Agents, for administrators: who makes them, who owns them, and what a token of an agent never reaches."""

import re

import psycopg

from service.features.agents.checks import CHECKS
from service.features.operations.diagnosis.examination import examine
from service.settings import load
from tests.features.access_requests.test_beginnings import SECRET
from tests.features.agents.conftest import DELEGATIONS, LIST, agent_of
from tests.features.operations.doctor.conftest import no_routes
from tests.features.personal_keys.test_walk import BY_KEY, CLOSED, WIDEST, provided  # noqa: F401 - a fixture
from tests.features.service_accounts.conftest import Workers
from tests.support.inside import Inside
from tests.support.members import member, query
from tests.users.writes import WRITES, World


async def test_only_a_service_account_becomes_an_agent_and_only_an_enabled_person_owns_it(
    workers: Workers,
) -> None:
    account = await workers.account(LIST)
    robot = await workers.account(LIST)
    person = await member(workers.first, "olu", LIST)
    of_person = await workers.first.ask("PUT", f"/api/agent/{person.user_id}", {"ownerId": 1})
    assert (of_person.status, of_person.code) == (409, "conflict")
    for owner in (robot.id, 10**9):
        refused = await workers.first.ask("PUT", f"/api/agent/{account.id}", {"ownerId": owner})
        assert (refused.status, refused.fields) == (422, ["ownerId"])
    assert (await workers.first.ask("PUT", f"/api/agent/{10**9}", {"ownerId": 1})).status == 404
    assert (await workers.first.ask("DELETE", f"/api/agent/{account.id}")).status == 404


async def test_an_administrator_makes_no_agent_of_an_account_with_more_permissions(workers: Workers) -> None:
    keeper = await member(workers.first, "pip", "system:agent:update", LIST)
    more = await workers.account("system:user:list")
    refused = await keeper.ask("PUT", f"/api/agent/{more.id}", {"ownerId": 1})
    assert (refused.status, refused.json["layer"]) == (403, "grant")
    same = await workers.account(LIST)
    assert (await keeper.ask("PUT", f"/api/agent/{same.id}", {"ownerId": 1})).status == 200


async def test_people_see_the_agents_that_they_can_use(workers: Workers) -> None:
    agent = await agent_of(workers, LIST)
    person = await member(workers.first, "ria", LIST)
    path = "/api/user/profile/agents"
    usable = (await person.ask("GET", path)).json["data"]["items"]
    assert [(each["userName"], each["ownerName"]) for each in usable if each["id"] == agent.id] == [
        (agent.account.name, "admin")
    ]
    await workers.first.data("PUT", f"/api/agent/{agent.id}/enabled", {"enabled": False})
    usable = (await person.ask("GET", path)).json["data"]["items"]
    assert [each for each in usable if each["id"] == agent.id] == []
    order = {"agentId": agent.id, "codes": [LIST], "services": ["portcullis"], "expiresIn": 60}
    assert (await person.ask("POST", DELEGATIONS, order)).fields == ["agentId"]


async def test_an_agent_with_all_permissions_reaches_no_closed_write(provided: Inside) -> None:  # noqa: F811
    workers = Workers(provided, provided)
    account = await workers.account()
    await query(provided, "INSERT INTO sys.user_role VALUES (%s, 1)", account.id)
    await provided.data("PUT", f"/api/agent/{account.id}", {"ownerId": 1})
    order = {"agentId": account.id, "codes": WIDEST[:1], "services": ["portcullis"], "expiresIn": 600}
    number = (await provided.data("POST", DELEGATIONS, order))["id"]
    form = {
        "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange",
        "client_id": account.name,
        "client_secret": await workers.key(account),
        "subject_token": str(number),
        "subject_token_type": "urn:portcullis:token-type:delegation",
    }
    token = (await provided.as_anonymous_form("/oauth/token", form)).json["access_token"]
    assert (await provided.ask("GET", "/api/user/list", token=token)).status == 200
    reached: dict[str, object] = {}
    with psycopg.connect(provided.database_url, autocommit=True) as connection:
        world = World(connection)
        aimed = {write.endpoint: write.aim for write in WRITES}
        for endpoint in sorted(CLOSED):
            if endpoint in aimed:
                method, path, body = aimed[endpoint](world, "low")
            else:
                method, _, template = endpoint.partition(" ")
                path, body = re.sub(r"\{\w+\}", "1", template), {}
            before = world.stored()
            answer = await provided.ask(method, path, body, token=token)
            layer = answer.json.get("layer") if answer.status == 403 else None
            if endpoint.partition(" ")[2].startswith("/scim/") and answer.json["detail"] == BY_KEY:
                layer = "account"  # SCIM errors have no layer
            # Some are closed by the demands on authentication before the layer "account" is asked.
            if layer not in ("account", "assurance") or world.stored() != before:
                reached[endpoint] = (answer.status, answer.body)
    assert reached == {}


async def finding(at: Inside) -> tuple[str, str]:
    """Return the state and the message of the check of ``doctor`` about agents."""
    stores = {"DATABASE_URL": at.database_url, "REDIS_URL": at.redis_url, "JWT_SECRET": SECRET}
    environ = {"PORTCULLIS_CONFIG": "", **stores}
    ((_, made),) = await examine(environ, load(environ), no_routes, CHECKS)
    return made.state, made.message


async def test_doctor_names_an_agent_whose_owner_has_left_until_it_has_another(workers: Workers) -> None:
    service = workers.first
    owner = await member(service, "ove")
    agent = await agent_of(workers, LIST, owner_id=owner.user_id)
    assert (await finding(service))[0] == "ok"
    await service.data("PUT", f"/api/user/{owner.user_id}/status", {"status": "disabled"})
    state, message = await finding(service)
    assert (state, agent.account.name in message) == ("warning", True)
    await service.data("DELETE", f"/api/user/{owner.user_id}")
    assert (await finding(service))[0] == "warning"
    await service.data("PUT", f"/api/agent/{agent.id}", {"ownerId": 1})
    assert (await finding(service))[0] == "ok"
