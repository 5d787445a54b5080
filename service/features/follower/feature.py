"""Followers: processes that decide beside a service with data of the hub; and the hub."""

from service.kernel.feature import Feature, FeatureCommands

FEATURE = Feature(
    name="follower",
    title="Decision points beside services, which follow this one",
    off=True,
    needs=("decision_log", "decisions"),
    paths=("/access/v1/follow", "/api/policy/followers"),
    settings=("policy.await_followers",),
    commands=(
        FeatureCommands(
            family="",
            commands=(("pdp", "decide beside a service, by what it follows", "commands"),),
            apart=True,
        ),
    ),
    parts="parts:FollowerPart",
    routes="api:add_routes",
    provides={"decision-point": "library"},
)
