"""Agents: service accounts that act for people."""

from service.kernel.feature import Feature, FeatureCommands, FeaturePage

_COMMANDS = "commands"

FEATURE = Feature(
    name="agents",
    title="Agents that act for people, within delegations",
    off=True,
    paths=(
        "/api/agent",
        "/api/user/profile/agents",
        "/api/user/profile/approvals",
        "/api/user/profile/delegations",
    ),
    settings=("auth.delegation_max",),
    tags={"agent": "Agents that act for people, their owners, and the delegations to them."},
    pages=(
        FeaturePage(
            "agent",
            "Agents",
            "key",
            after="user",
            permissions=(
                (
                    "list",
                    "Read agents and delegations",
                    ("GET /api/agent/list", "GET /api/agent/delegation/list"),
                ),
                (
                    "update",
                    "Make service accounts agents",
                    ("PUT /api/agent/{id}", "DELETE /api/agent/{id}"),
                ),
                (
                    "switch",
                    "Switch agents on and off",
                    ("PUT /api/agent/{id}/enabled", "PUT /api/agent/switch"),
                ),
                ("end", "End delegations of others", ("DELETE /api/agent/delegation/{delegation_id}",)),
            ),
        ),
    ),
    commands=(
        FeatureCommands(
            "agent",
            (
                ("list", "list agents, their owners and switches", _COMMANDS),
                ("switch", "switch an agent, or all agents, on or off", _COMMANDS),
            ),
            help="agents that act for people",
            after="keys",
        ),
    ),
    sentences="sentences:sentence",
    tables="schema",
    routes="api:add_routes",
    jobs="jobs:jobs",
    checks="checks:CHECKS",
    provides={
        "agent-callers": "callers:DelegatedCallers",
        "followed-delegations": "store_followed:read",
        "links-restored": "store:end_restored",
        "personal-data": "personal:KEPT",
        "agent-approvals": "approvals:CallApprovals",
        "token-exchange": "exchanging:TokenExchange",
    },
    listens={"all-sessions-end": "store:end_with_sessions"},
)
