"""Agents, ``/api/agent``, and delegations and approvals of the caller below ``/api/user/profile``."""

from typing import Annotated, Any

from msgspec import Meta, field

from service.endpoints.record_endpoints import Endpoint
from service.errors import Conflict, NotFound
from service.features.agents.agents import Agents
from service.features.agents.approvals import Approvals
from service.features.agents.delegations import MOST, Delegations
from service.features.agents.store import StoredAgent
from service.features.agents.store_approvals import PendingApproval, Verdict
from service.features.agents.store_delegations import StoredDelegation
from service.kernel.codes import MAX_CODE_LENGTH
from service.web.messages.context import RequestContext
from service.web.messages.operation_metadata import by_session, login, needs, writes
from service.web.messages.record_schemas import shows
from service.web.messages.schema import Id, Schema
from service.web.requests.routes import Routes

_YEAR = 31_536_000
Code = Annotated[str, Meta(min_length=1, max_length=MAX_CODE_LENGTH, examples=["system:role:list"])]


@shows(StoredAgent)
class Agent(Schema):
    """An agent: a service account that acts for people, and the owner who is responsible for it."""


class AgentList(Schema):
    """All agents; `enabled` is the switch of all of them."""

    enabled: bool
    items: list[Agent]


class UsableAgent(Schema):
    """An agent to which the caller may delegate."""

    id: Id
    user_name: Annotated[str, Meta(examples=["report-agent"])]
    nick_name: str
    owner_name: Annotated[str, Meta(examples=["ann"])] | None


class UsableAgents(Schema):
    """The agents to which the caller may delegate, by name."""

    items: list[UsableAgent]


class AgentOwner(Schema):
    """The person who is responsible for an agent."""

    owner_id: Id


class AgentSwitch(Schema):
    """A switch: on or off."""

    enabled: bool


@shows(StoredDelegation)
class DelegationToAgent(Schema):
    """What a person lets an agent do, for which services and until when."""


class DelegationList(Schema):
    """Delegations in force, the newest first."""

    items: list[DelegationToAgent]


class OwnDelegationList(DelegationList):
    """The delegations of the caller in force, the newest first."""

    max_expires_in: Annotated[
        int, Meta(description="The longest lifetime of a new delegation in seconds.", examples=[86_400])
    ]


class DelegationOrder(Schema):
    """A new delegation of the caller.

    `expiresIn` is at most the setting `auth.delegation_max`, or a longer `maxDelegation` of a role of the
    caller. A code of `codes` is one that the caller holds, or a pattern of such codes; those of `askMe` are
    among them. `services` are names; `portcullis` is this service.
    """

    agent_id: Id
    codes: Annotated[list[Code], Meta(min_length=1, max_length=MOST)]
    services: Annotated[list[str], Meta(min_length=1, max_length=MOST, examples=[["portcullis"]])]
    expires_in: Annotated[int, Meta(ge=1, le=10 * _YEAR, description="Seconds.", examples=[7200])]
    ask_me: Annotated[list[Code], Meta(max_length=MOST)] = field(default_factory=list)


@shows(PendingApproval)
class AgentApproval(Schema):
    """A call of an agent that waits for the decision of the caller."""


class ApprovalList(Schema):
    """Calls of agents that wait for the decision of the caller, the oldest first."""

    items: list[AgentApproval]


class ApprovalDecision(Schema):
    """A decision about a call: for this `once`, `always` for equal calls of the delegation, or `refused`.

    `digest` is that of the call as it was shown.
    """

    decision: Annotated[Verdict, Meta(title="ApprovalVerdict")]
    digest: Annotated[str, Meta(pattern="^[0-9a-f]{64}$", examples=["0f" * 32])]


class DelegationQuery(Schema):
    """Filters of delegations."""

    user_id: Id | None = None
    agent_id: Id | None = None


class ListAgents(Endpoint[Agents], at="/api/agent/list"):
    @needs("system:agent:list", name="listAgents")
    async def on_get(self, context: RequestContext) -> AgentList:
        """List all agents."""
        enabled, agents = await self.part.listed()
        return AgentList(enabled=enabled, items=[Agent.of(agent) for agent in agents])


class OneAgent(Endpoint[Agents], at="/api/agent/{id}"):
    @needs("system:agent:update", name="setAgentOwner", refuses=[NotFound, Conflict])
    @writes("make an agent", "UPDATE", example={"ownerId": 1})
    @by_session("create-key")
    async def on_put(self, context: RequestContext, id: int, body: AgentOwner) -> Agent:
        """Make a service account an agent with that owner, or give an agent another owner.

        Another owner ends the suspension of an agent whose owner has left. Callers can't change accounts with
        more permissions than their own. Requests with an API key can't make agents.
        """
        return Agent.of(await self.part.put(context.user, id, body.owner_id))

    @needs("system:agent:update", name="deleteAgent", refuses=[NotFound])
    @writes("end an agent", "DELETE")
    @by_session("create-key")
    async def on_delete(self, context: RequestContext, id: int) -> None:
        """Make an agent a service account again; all delegations to it end."""
        await self.part.remove(context.user, id)


class OneAgentSwitch(Endpoint[Agents], at="/api/agent/{id}/enabled"):
    @needs("system:agent:switch", name="setAgentEnabled", refuses=[NotFound])
    @writes("switch an agent", "UPDATE", example={"enabled": False})
    @by_session("delete-key")
    async def on_put(self, context: RequestContext, id: int, body: AgentSwitch) -> None:
        """Switch one agent on or off, in force for each request that begins after the answer."""
        await self.part.switch(id, body.enabled)


class AllAgentsSwitch(Endpoint[Agents], at="/api/agent/switch"):
    @needs("system:agent:switch", name="setAllAgentsEnabled")
    @writes("switch all agents", "UPDATE", example={"enabled": False})
    @by_session("delete-key")
    async def on_put(self, context: RequestContext, body: AgentSwitch) -> None:
        """Switch all agents on or off, in force for each request that begins after the answer.

        The switches of single agents stay.
        """
        await self.part.switch_all(body.enabled)


class ListDelegations(Endpoint[Delegations], at="/api/agent/delegation/list"):
    @needs("system:agent:list", name="listDelegations")
    async def on_get(self, context: RequestContext, query: DelegationQuery) -> DelegationList:
        """List the delegations in force, of one person or agent if given; at most 1,000."""
        listed = await self.part.listed(query.user_id, query.agent_id)
        return DelegationList(items=[DelegationToAgent.of(each) for each in listed])


class OneDelegation(Endpoint[Delegations], at="/api/agent/delegation/{delegation_id}"):
    @needs("system:agent:end", name="endDelegation", refuses=[NotFound])
    @writes("end a delegation", "DELETE")
    @by_session("end-sessions")
    async def on_delete(self, context: RequestContext, delegation_id: int) -> None:
        """End a delegation of a person with at most the caller's permissions."""
        await self.part.end(context.user, delegation_id)


class OwnAgents(Endpoint[Agents], at="/api/user/profile/agents"):
    @login(name="listUsableAgents")
    async def on_get(self, context: RequestContext) -> UsableAgents:
        """List the agents to which the caller may delegate."""
        usable = await self.part.usable()
        return UsableAgents(
            items=[UsableAgent(each.id, each.user_name, each.nick_name, each.owner_name) for each in usable]
        )


class OwnDelegations(Endpoint[Delegations], at="/api/user/profile/delegations"):
    @login(name="listOwnDelegations")
    async def on_get(self, context: RequestContext) -> OwnDelegationList:
        """List the delegations of the caller in force."""
        own, longest = await self.part.own(context.user)
        return OwnDelegationList(items=[DelegationToAgent.of(each) for each in own], max_expires_in=longest)

    @login(name="createOwnDelegation", refuses=[Conflict])
    @by_session("delegate")
    @writes(
        "delegate to an agent",
        "INSERT",
        example={
            "agentId": 7,
            "codes": ["system:role:list"],
            "services": ["portcullis"],
            "expiresIn": 7200,
            "askMe": [],
        },
        created="/api/user/profile/delegations/{delegation_id}",
        refuses_keys="a repeated request would delegate for longer",
    )
    async def on_post(self, context: RequestContext, body: DelegationOrder) -> DelegationToAgent:
        """Let an agent act for the caller.

        A request of the agent is allowed if the permissions of the caller at that moment, those of the agent,
        and the codes of the delegation all allow it. Requests with an API key can't delegate.
        """
        made = await self.part.create(
            context.user,
            agent_id=body.agent_id,
            codes=body.codes,
            ask_me=body.ask_me,
            services=body.services,
            expires_in=body.expires_in,
        )
        return DelegationToAgent.of(made)


class OneOwnDelegation(Endpoint[Delegations], at="/api/user/profile/delegations/{delegation_id}"):
    @login(name="endOwnDelegation", refuses=[NotFound])
    @by_session("delegate")
    @writes("end an own delegation", "DELETE")
    async def on_delete(self, context: RequestContext, delegation_id: int) -> None:
        """End a delegation of the caller, whose tokens are refused from the next request on."""
        await self.part.end_own(context.user, delegation_id)


class OwnApprovals(Endpoint[Approvals], at="/api/user/profile/approvals"):
    @login(name="listOwnApprovals")
    async def on_get(self, context: RequestContext) -> ApprovalList:
        """List the calls of agents that wait for the decision of the caller."""
        return ApprovalList(items=[AgentApproval.of(each) for each in await self.part.own(context.user)])


class OneOwnApproval(Endpoint[Approvals], at="/api/user/profile/approvals/{approval_id}"):
    @login(name="decideOwnApproval", refuses=[NotFound])
    @by_session("delegate")
    @writes("decide about a call", "UPDATE", example={"decision": "once", "digest": "0f" * 32})
    async def on_post(self, context: RequestContext, approval_id: int, body: ApprovalDecision) -> None:
        """Approve or refuse a call of an agent that acts for the caller.

        The approval is for exactly that call: its method, path, query and body. The agent sends it again.
        """
        await self.part.decide(context.user, approval_id, body.decision, body.digest)


def add_routes(routes: Routes, container: Any) -> None:
    """Register the endpoints, made of the parts of ``container``."""
    parts = container.administration
    shared = (container.stores.database, parts.delegation, container.sign_in.revocations)
    agents = Agents(container.stores.database, container.sign_in.revocations, parts.delegation)
    longest = container.settings.auth.delegation_max
    delegations = Delegations(*shared, container.stores.sessions, parts.notices, longest)
    approvals = Approvals(container.stores.database, parts.delegation)
    routes.serve(ListAgents(agents))
    routes.serve(AllAgentsSwitch(agents))
    routes.serve(OneAgent(agents))
    routes.serve(OneAgentSwitch(agents))
    routes.serve(OwnAgents(agents))
    routes.serve(ListDelegations(delegations))
    routes.serve(OneDelegation(delegations))
    routes.serve(OwnDelegations(delegations))
    routes.serve(OneOwnDelegation(delegations))
    routes.serve(OwnApprovals(approvals))
    routes.serve(OneOwnApproval(approvals))
