"""Two workers of one service, agents, and people who delegate to them."""

from dataclasses import dataclass
from typing import Any, Final

from tests.features.service_accounts.conftest import (  # noqa: F401 - fixtures
    Account,
    Workers,
    _workers,
    workers,
)
from tests.support.members import Member
from tests.web.driver import Answer

DELEGATIONS: Final = "/api/user/profile/delegations"
APPROVALS: Final = "/api/user/profile/approvals"
LIST: Final = "system:role:list"
EXCHANGE: Final = "urn:ietf:params:oauth:grant-type:token-exchange"
DELEGATION: Final = "urn:portcullis:token-type:delegation"


@dataclass
class Agent:
    """A service account that is an agent, with an API key."""

    of: Workers
    account: Account
    key: str

    @property
    def id(self) -> int:
        """The id of the account."""
        return self.account.id

    async def exchanged(self, delegation_id: Any, **more: str) -> Answer:
        """Ask the token endpoint for a token with which the agent acts; an empty parameter is left out."""
        form = {
            "grant_type": EXCHANGE,
            "client_id": self.account.name,
            "client_secret": self.key,
            "subject_token": str(delegation_id),
            "subject_token_type": DELEGATION,
        } | more
        form = {name: value for name, value in form.items() if value}
        return await self.of.first.as_anonymous_form("/oauth/token", form)

    async def token(self, delegation_id: Any, **more: str) -> str:
        """Return a token with which the agent acts."""
        answer = await self.exchanged(delegation_id, **more)
        assert answer.status == 200, answer.body
        token: str = answer.json["access_token"]
        return token


async def agent_of(at: Workers, *codes: str, owner_id: int = 1) -> Agent:
    """Make a service account that holds ``codes`` an agent."""
    account = await at.account(*codes)
    made = await at.first.ask("PUT", f"/api/agent/{account.id}", {"ownerId": owner_id})
    assert made.status == 200, made.body
    return Agent(at, account, await at.key(account))


async def delegated(person: Member, agent: Agent, *codes: str, **more: Any) -> int:
    """Let a person delegate ``codes`` to an agent, and return the number of the delegation."""
    order = {"agentId": agent.id, "codes": list(codes), "services": ["portcullis"], "expiresIn": 3600} | more
    made = await person.ask("POST", DELEGATIONS, order)
    assert made.status == 201, made.body
    number: int = made.json["data"]["id"]
    return number
