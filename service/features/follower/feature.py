"""Followers: processes that decide beside a service with data of the hub; and the hub."""

from service.kernel.feature import Feature, FeatureCommands

FEATURE = Feature(
    name="follower",
    title="Decision points beside other services that follow this service",
    off=True,
    needs=("decision_log", "decisions"),
    paths=("/access/v1/follow", "/api/policy/followers"),
    settings=("policy.await_followers",),
    commands=(
        FeatureCommands(
            family="",
            commands=(("pdp", "run a decision point beside a service", "commands"),),
            apart=True,
        ),
    ),
    sentences="sentences:sentence",
    parts="parts:FollowerPart",
    routes="api:add_routes",
    provides={"decision-point": "library"},
)
