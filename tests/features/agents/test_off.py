"""Without agents no token of an agent is accepted, and delegations still end."""

import secrets

from service.records.followed_delegations import read_delegations_of
from tests.features.agents.conftest import DELEGATIONS, LIST, agent_of, delegated
from tests.features.service_accounts.conftest import Workers
from tests.support.databases import NewDatabase
from tests.support.inside import inside_published
from tests.support.members import member, query

PATHS = {
    "/api/agent/list": "GET",
    "/api/user/profile/agents": "GET",
    "/api/user/profile/approvals": "GET",
    DELEGATIONS: "POST",
    "/api/agent/switch": "PUT",
}


async def test_with_agents_off_no_token_of_an_agent_is_accepted_and_delegations_still_end(
    new_database: NewDatabase, published_template: str, redis_url: str
) -> None:
    url, key = new_database(published_template), {"JWT_SECRET": secrets.token_urlsafe(48)}
    question = {"type": "permission", "id": LIST}
    async with inside_published(url, redis_url, **key) as on:
        on.token = await on.log_in()
        workers = Workers(on, on)
        agent = await agent_of(workers, LIST)
        person, other = await member(on, "off", LIST), await member(on, "away", LIST)
        numbers = [await delegated(each, agent, LIST) for each in (person, other)]
        tokens = [await agent.token(number) for number in numbers]
        assert [(await on.ask("GET", "/api/role/list", token=token)).status for token in tokens] == [200, 200]
    async with inside_published(url, redis_url, **key, PORTCULLIS_FEATURES__OFF="agents") as off:
        off.token = await off.log_in()
        agent.of = Workers(off, off)
        for token in tokens:
            for path in ("/api/role/list", "/api/user/profile", "/api/menu/mine"):
                assert (await off.ask("GET", path, token=token)).status == 401
            asked = {
                "subject": {"type": "token", "id": token},
                "action": {"name": "use"},
                "resource": question,
            }
            assert (await off.ask("POST", "/access/v1/evaluation", asked)).json["decision"] is False
        refused = await agent.exchanged(numbers[0])
        assert (refused.status, refused.json["error"]) == (400, "unsupported_grant_type")
        for path, method in PATHS.items():
            assert (await off.ask(method, path, {} if method != "GET" else None)).status == 404, path
        # What ends the access of a person ends the delegations too.
        ended = await off.ask("POST", "/api/user/bulk/end-sessions", {"ids": [other.user_id]})
        assert ended.status == 200, ended.body
        rows = "SELECT id FROM sys.delegation ORDER BY id"
        assert await query(off, rows) == [(numbers[0],)]
    async with inside_published(url, redis_url, **key) as again:
        statuses = [(await again.ask("GET", "/api/role/list", token=token)).status for token in tokens]
        assert statuses == [200, 401]


def test_with_agents_off_followers_are_sent_none_and_refuse_their_tokens() -> None:
    assert read_delegations_of(()) is not None
    assert read_delegations_of(("agents",)) is None
    assert read_delegations_of(("all",)) is None
