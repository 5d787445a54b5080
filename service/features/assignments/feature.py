"""Assignments of roles to users, with expiries."""

from service.kernel.feature import Feature, FeatureCommands

FEATURE = Feature(
    name="assignments",
    title="Individual role assignments, with a start, an end and a reason",
    paths=("/api/assignment", "/api/user/{id}/roles"),
    tags={"assignment": "Roles of all users, with a beginning, an end and a reason."},
    commands=(
        FeatureCommands(
            "policy",
            (("ending", "print the assignments of roles that end soon", "commands"),),
            after="export",
        ),
    ),
    enumerations={"AssignmentTransitionKind": "started expired"},
    sentences="sentences:sentence",
    routes="routes:add_routes",
    jobs="jobs:jobs",
    checks="checks:CHECKS",
)
