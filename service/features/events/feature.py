"""Events about rights, and webhooks that get them."""

from service.kernel.feature import Feature, FeatureCommands, FeaturePage

_COMMANDS = "commands"

FEATURE = Feature(
    name="events",
    title="Events about rights, recorded with their cause and sent to webhooks",
    off=True,
    needs=("webhooks",),
    paths=("/api/webhook",),
    settings=("events.destinations",),
    tags={"webhook": "Destinations of events about rights."},
    pages=(
        FeaturePage(
            "webhook",
            "Webhooks",
            "link",
            after="chat",
            permissions=(
                (
                    "list",
                    "List webhooks and their dead letters",
                    ("GET /api/webhook/list", "GET /api/webhook/{name}/dead-letters"),
                ),
                ("test", "Send test events to webhooks", ("POST /api/webhook/{name}/test",)),
                ("replay", "Send events to webhooks again", ("POST /api/webhook/{name}/replay",)),
            ),
        ),
    ),
    enumerations={
        "EventInclude": "user_name nick_name email",
        "EventKind": (
            "role.given role.changed role.begun role.taken role.ended role.codes_changed user.disabled "
            "user.enabled user.banned user.unbanned user.deleted sessions.ended access_request.submitted "
            "access_request.decided review.opened review.decided key.created key.revoked "
            "delegation.made delegation.ended policy.published"
        ),
    },
    commands=(
        FeatureCommands(
            "events",
            (
                ("status", "list the destinations of events, with lag and dead letters", _COMMANDS),
                ("replay", "send a destination the events from a time on again", _COMMANDS),
                ("test", "send a test event to a destination", _COMMANDS),
            ),
            help="events about rights, sent to webhooks",
            after="export",
        ),
    ),
    sentences="sentences:sentence",
    tables="schema",
    parts="parts:Webhooks",
    routes="api:add_routes",
    jobs="jobs:jobs",
    checks="checks:CHECKS",
    provides={"switched": "store:switch", "personal-data": "personal:KEPT", "own-events": "own:OwnEvents"},
    listens={"all-sessions-end": "store:sessions_end"},
)
