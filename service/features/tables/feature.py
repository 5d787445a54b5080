"""Declaration of the feature: import and export of tables."""

from service.kernel.feature import Feature, FeatureCommands

FEATURE = Feature(
    name="tables",
    title="Users and roles as tables, in and out, and resources out of an OpenAPI document",
    off=True,
    needs=("bulk_acts",),
    paths=("/api/user/export", "/api/user/import", "/api/role/export", "/api/role/import"),
    enumerations={"ImportOutcome": "created updated"},
    commands=(
        FeatureCommands(
            "resource",
            (("import", "register the operations of an OpenAPI document", "commands"),),
            help="resources of other services",
        ),
    ),
    sentences="sentences:sentence",
    routes="api:add_routes",
)
