"""Agents, delegations, and tokens for them, through the API."""

import base64
import json
from typing import Any, Final, Union
from urllib.parse import urlencode

import msgspec
import pytest
from msgspec import ValidationError

from service.authn.claims import AccessClaims, ClientClaims, DelegatedClaims, RefreshClaims
from tests.features.agents.conftest import DELEGATIONS, LIST, agent_of, delegated
from tests.features.service_accounts.conftest import Workers
from tests.support.cases import with_each
from tests.support.members import member, query

BEARER: Final = (AccessClaims, ClientClaims, DelegatedClaims)
ANY = ("If-Match", "*")
FORM = ("Content-Type", "application/x-www-form-urlencoded")


def claims_of(token: str) -> dict[str, Any]:
    """Return the claims of a JWT without verification."""
    payload = token.split(".")[1]
    claims: dict[str, Any] = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    return claims


async def test_an_agent_acts_for_a_person_with_a_token_that_names_both(workers: Workers) -> None:
    agent = await agent_of(workers, LIST)
    person = await member(workers.first, "ann", LIST)
    number = await delegated(person, agent, LIST)
    answer = await agent.exchanged(number)
    assert answer.json["issued_token_type"] == "urn:ietf:params:oauth:token-type:access_token"
    claims = claims_of(answer.json["access_token"])
    assert (claims["sub"], claims["act"]) == (str(person.user_id), {"sub": str(agent.id)})
    assert claims["delegation"] == str(number)
    assert 890 <= claims["exp"] - claims["iat"] <= 900
    assert await workers.statuses(answer.json["access_token"]) == [200, 200]


async def test_person_agent_and_delegation_must_all_allow(workers: Workers) -> None:
    agent = await agent_of(workers, LIST, "system:user:list", "system:menu:list")
    person = await member(workers.first, "ben", LIST, "system:user:list", "system:online:list")
    token = await agent.token(await delegated(person, agent, "system:role:*", "system:online:list"))
    denied = {}
    for path in ("/api/role/list", "/api/user/list", "/api/online/list", "/api/menu/list", "/api/jobs"):
        answer = await workers.second.ask("GET", path, token=token)
        denied[path] = answer.json.get("deniedBy", answer.status)
    assert denied == {
        "/api/role/list": 200,
        "/api/user/list": ["delegation"],
        "/api/online/list": ["agent"],
        "/api/menu/list": ["account", "delegation"],
        "/api/jobs": ["account", "agent", "delegation"],
    }


@with_each(
    ("change", "fields"),
    [
        ({"codes": []}, ["codes"]),
        ({"codes": ["*"]}, ["codes[0]"]),
        ({"codes": ["*:role:list"]}, ["codes[0]"]),
        ({"codes": ["@login"]}, ["codes[0]"]),
        ({"codes": [LIST, "finance:report:list"]}, ["codes[1]"]),
        ({"codes": ["system:user:*"]}, ["codes[0]"]),
        ({"askMe": ["system:user:delete"]}, ["askMe[0]"]),
        ({"services": []}, ["services"]),
        ({"services": ["orders"]}, ["services[0]"]),
        ({"expiresIn": 86_401}, ["expiresIn"]),
        ({"expiresIn": None}, ["expiresIn"]),
        ({"agentId": 1}, ["agentId"]),
    ],
)
async def test_a_delegation_names_held_codes_services_an_agent_and_an_end(
    workers: Workers, change: dict[str, Any], fields: list[str]
) -> None:
    agent = await agent_of(workers, LIST)
    name = f"cleo{abs(hash(str(change))) % 10**9}"
    person = await member(workers.first, name, LIST)
    order = {"agentId": agent.id, "codes": [LIST], "services": ["portcullis"], "expiresIn": 60} | change
    body = {name: value for name, value in order.items() if value is not None}
    refused = await person.ask("POST", DELEGATIONS, body)
    assert (refused.status, refused.fields) == (422, fields), refused.body


async def test_a_delegation_is_exchanged_by_its_own_agent_alone(workers: Workers) -> None:
    agent, other = await agent_of(workers, LIST), await agent_of(workers, LIST)
    person = await member(workers.first, "dot", LIST)
    number = await delegated(person, agent, LIST)
    token = await agent.token(number)
    program = await workers.account(LIST)
    refusals = {
        "another agent": await other.exchanged(number),
        "no agent": await agent.exchanged(
            number, client_id=program.name, client_secret=await workers.key(program)
        ),
        "unknown": await agent.exchanged(10**9),
        "malformed": await agent.exchanged("1 or 2"),
        "a chain by subject": await agent.exchanged(
            token, subject_token_type="urn:ietf:params:oauth:token-type:access_token"
        ),
        "a chain by number": await agent.exchanged(token),
        "a chain by client": await agent.exchanged(number, client_secret=token),
        "an actor": await agent.exchanged(number, actor_token=token),
        "an audience": await agent.exchanged(number, audience="orders"),
        "without a type": await agent.exchanged(number, subject_token_type=""),
        "a wrong key": await agent.exchanged(number, client_secret=other.key),
        "a scope beyond": await agent.exchanged(number, scope="system:user:list"),
    }
    assert {name: (answer.status, answer.json["error"]) for name, answer in refusals.items()} == {
        "another agent": (400, "invalid_request"),
        "no agent": (400, "invalid_request"),
        "unknown": (400, "invalid_request"),
        "malformed": (400, "invalid_request"),
        "a chain by subject": (400, "invalid_request"),
        "a chain by number": (400, "invalid_request"),
        "a chain by client": (400, "invalid_client"),
        "an actor": (400, "invalid_request"),
        "an audience": (400, "invalid_target"),
        "without a type": (400, "invalid_request"),
        "a wrong key": (400, "invalid_client"),
        "a scope beyond": (400, "invalid_scope"),
    }


async def test_the_scopes_of_the_agents_key_and_of_the_token_limit_it_further(workers: Workers) -> None:
    agent = await agent_of(workers, LIST, "system:user:list")
    person = await member(workers.first, "eli", LIST, "system:user:list")
    number = await delegated(person, agent, "system:*")
    narrow = await agent.token(number, scope=LIST)
    assert await workers.statuses(narrow) == [200, 200]
    assert await workers.statuses(narrow, "/api/user/list") == [403, 403]
    agent.key = await workers.key(agent.account, scopes=["system:user:*"])
    by_key = await agent.token(number)
    assert await workers.statuses(by_key) == [403, 403]
    assert await workers.statuses(by_key, "/api/user/list") == [200, 200]
    agent.key = await workers.key(agent.account, scopes=[])
    nothing = await agent.token(number)
    assert await workers.statuses(nothing, "/api/user/profile") == [403, 403]


async def test_a_delegation_without_this_service_is_of_no_use_here(workers: Workers) -> None:
    agent = await agent_of(workers, LIST)
    person = await member(workers.first, "flo", LIST)
    await workers.first.data("POST", "/api/service", {"name": "orders"})
    await workers.first.data("POST", "/api/policy/reload")
    await workers.second.data("POST", "/api/policy/reload")
    await person.log_in()
    token = await agent.token(await delegated(person, agent, LIST, services=["orders"]))
    for path in ("/api/role/list", "/api/user/profile"):
        refused = await workers.second.ask("GET", path, token=token)
        assert (refused.status, refused.json["layer"]) == (403, "account"), refused.body


async def test_administrators_list_and_end_delegations(workers: Workers) -> None:
    agent = await agent_of(workers, LIST)
    person = await member(workers.first, "gus", LIST)
    number = await delegated(person, agent, LIST)
    token = await agent.token(number)
    query = f"userId={person.user_id}&agentId={agent.id}"
    items = (await workers.first.data("GET", f"/api/agent/delegation/list?{query}"))["items"]
    assert [(each["id"], each["userName"], each["codes"]) for each in items] == [(number, "gus", [LIST])]
    assert await workers.statuses(token) == [200, 200]
    assert (await workers.first.ask("DELETE", f"/api/agent/delegation/{number}")).status == 200
    assert await workers.statuses(token) == [401, 401]
    assert (await workers.first.ask("DELETE", f"/api/agent/delegation/{number}")).status == 404


async def test_introspection_names_the_agent(workers: Workers) -> None:
    agent = await agent_of(workers, LIST)
    person = await member(workers.first, "hew", LIST)
    token = await agent.token(await delegated(person, agent, LIST))
    body = urlencode({"token": token}).encode()
    state = await workers.first.ask_raw("POST", "/oauth/introspect", body, FORM)
    assert (state.json["sub"], state.json["act"]) == (str(person.user_id), {"sub": str(agent.id)})
    assert state.json["scope"] == LIST
    assert "acr" not in state.json


async def test_nobody_delegates_while_a_node_of_an_older_version_runs(workers: Workers) -> None:
    """It would end the sessions of a person without the delegations."""
    facts = '{"version": "0.3.0", "settings": {}, "parts": {}, "knows": ["windows", "line_ends"]}'
    add = "INSERT INTO sys.policy_worker (worker, revision, facts) VALUES ('older:1', 1, %s)"
    agent = await agent_of(workers, LIST)
    person = await member(workers.first, "ivo", LIST)
    order = {"agentId": agent.id, "codes": [LIST], "services": ["portcullis"], "expiresIn": 60}
    least = "SELECT least_version FROM sys.schema_support"
    await query(workers.first, "DELETE FROM sys.delegation")
    ((before,),) = await query(workers.first, least)
    await query(workers.first, add, facts)
    refused = await person.ask("POST", DELEGATIONS, order)
    await query(workers.first, "DELETE FROM sys.policy_worker WHERE worker = 'older:1'")
    assert (refused.status, refused.json["rule"]) == (409, "older_nodes")
    assert before != "0.4.0"
    made = await person.ask("POST", DELEGATIONS, order)
    assert made.status == 201
    # No node of an older version starts any more, until the last delegation has gone.
    assert await query(workers.first, least) == [("0.4.0",)]
    assert (await person.ask("DELETE", f"{DELEGATIONS}/{made.json['data']['id']}")).status == 200
    assert await query(workers.first, least) == [(before,)]


async def test_older_versions_and_followers_reject_tokens_of_agents(workers: Workers) -> None:
    """The claims of a session and of an API key are the only ones that older versions know."""
    agent = await agent_of(workers, LIST)
    person = await member(workers.first, "jan", LIST)
    token = await agent.token(await delegated(person, agent, LIST))
    for known in ((AccessClaims, ClientClaims), (AccessClaims,), (ClientClaims,), (RefreshClaims,)):
        with pytest.raises(ValidationError):
            msgspec.convert(claims_of(token), Union[known])  # noqa: UP007 - of a tuple
    assert isinstance(msgspec.convert(claims_of(token), Union[BEARER]), DelegatedClaims)  # noqa: UP007 - as above


async def test_a_role_lengthens_the_delegations_of_its_holders_and_shortens_none(workers: Workers) -> None:
    agent = await agent_of(workers, LIST)
    person = await member(workers.first, "ike", LIST)
    day = 86_400
    order = {"agentId": agent.id, "codes": [LIST], "services": ["portcullis"]}
    for most, shown in ((3600, day), (2 * day, 2 * day), (None, day)):
        role = await workers.first.data("PATCH", f"/api/role/{person.role_id}", {"maxDelegation": most}, ANY)
        assert role["maxDelegation"] == most
        await person.log_in()
        assert (await person.ask("GET", DELEGATIONS)).json["data"]["maxExpiresIn"] == shown
        refused = await person.ask("POST", DELEGATIONS, order | {"expiresIn": shown + 1})
        assert (refused.status, refused.fields) == (422, ["expiresIn"])
        assert (await person.ask("POST", DELEGATIONS, order | {"expiresIn": shown})).status == 201
