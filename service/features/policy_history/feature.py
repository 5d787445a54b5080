"""Declaration of the feature: policy history and state files."""

from service.kernel.feature import Feature, FeatureCommands

FEATURE = Feature(
    name="policy_history",
    title="Policy revisions: history, restore and state files",
    needs=("explain", "log_reading", "policy_checks", "services"),
    paths=("/api/policy/diff", "/api/policy/revisions/{revision}/restore"),
    commands=(
        FeatureCommands(
            "policy",
            (
                ("log", "print what each revision changed, when, by whom and why", "commands_log"),
                ("diff", "compare two policies: lines, and gained and lost access", "commands_diff"),
            ),
            after="prove",
        ),
        FeatureCommands(
            "state",
            (
                ("export", "write roles, menus, resources and bindings into a file", "commands_state_export"),
                (
                    "plan",
                    "show the effects of applying a file, without changes",
                    "commands_state_plan",
                ),
                (
                    "apply",
                    "make roles, menus, resources and bindings equal to a file",
                    "commands_state_apply",
                ),
            ),
            help="roles, menus, resources and bindings as a reviewed file",
            after="policy",
        ),
    ),
    sentences="sentences:sentence",
    tables="schema",
    routes="api:add_routes",
    listens={"lines-published": "store_row_history:lines_published"},
)
