"""Requests for roles: users request, others approve, and the grant expires."""

from service.kernel.feature import Feature, FeatureCommands, FeaturePage

READ_REQUESTS = "read-requests others"
"""The caller reads all requests, instead of only those that concern the caller."""
_COMMANDS = "commands"

FEATURE = Feature(
    name="access_requests",
    title="Requests for roles, with approval by others",
    off=True,
    paths=("/api/access-request",),
    tags={"access-request": "Requests for roles, and the decisions of approvers."},
    pages=(
        FeaturePage(
            "access-request",
            "Access requests",
            "hand",
            after="activity",
            permissions=(("list", "Read the requests for roles of all", ()),),
        ),
    ),
    by_people={
        "request": "request_by_key",
        "approve": "decision_by_key",
    },
    account_objects=(READ_REQUESTS,),
    enumerations={
        "AccessRequestState": "pending approved denied expired cancelled failed",
        "AccessVerdict": "approve deny",
    },
    commands=(
        FeatureCommands(
            "request",
            (
                ("list", "list requests for roles, the newest first", _COMMANDS),
                ("show", "print a request with its stages and decisions", _COMMANDS),
                ("decide", "approve or deny a request as a user; prompts for the password", _COMMANDS),
            ),
            help="requests for roles",
            after="keys",
        ),
    ),
    sentences="sentences:sentence",
    tables="schema",
    parts="parts:RequestsPart",
    routes="api:add_routes",
    jobs="jobs:jobs",
    checks="checks:CHECKS",
    rows="store:in_need",
    provides={"assignment-origin": "store_origins:approved", "request-history": "store_history:HISTORY"},
    listens={
        "account-leaves": "ending:account_leaves",
        "change-begins": "appointing:watch",
        "role-changes": "ending:role_changes",
    },
)
