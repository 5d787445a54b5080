"""Notices in a chat."""

from service.kernel.feature import Feature, FeatureCommands, FeaturePage

FEATURE = Feature(
    name="chat",
    title="Notices about requests for roles, reviews and sign-offs, in a chat",
    off=True,
    needs=("notices", "webhooks"),
    paths=("/api/chat",),
    settings=("chat.destinations",),
    tags={"chat": "Destinations of notices in a chat."},
    pages=(
        FeaturePage(
            "chat",
            "Chat",
            "mail",
            after="mail",
            permissions=(
                ("list", "List destinations in a chat", ("GET /api/chat/list",)),
                ("test", "Send test messages to a chat", ("POST /api/chat/{name}/test",)),
            ),
        ),
    ),
    enumerations={
        "ChatFormat": "slack teams standard",
        "ChatKind": (
            "access_request_made access_request_ended emergency_given review_opened review_due review_closed "
            "policy_signed_off"
        ),
    },
    commands=(
        FeatureCommands(
            "notices",
            (("test", "post a test message to a destination in a chat", "notices_test"),),
            help="notices in a chat",
            after="mail",
        ),
    ),
    sentences="sentences:sentence",
    tables="schema",
    routes="api:add_routes",
    jobs="sending:jobs",
    checks="checks:CHECKS",
    provides={"chat": "sending:Chats", "restored": "store:give_up_restored"},
)
