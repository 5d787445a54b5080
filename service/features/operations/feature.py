"""What backup and doctor add."""

from service.kernel.feature import Feature, FeatureCommands

FEATURE = Feature(
    name="operations",
    title="Backup and restore, and doctor",
    needs=("policy_history", "second_factors"),
    paths=("/api/system/findings", "/api/system/first-steps"),
    commands=(
        FeatureCommands(
            "",
            (
                ("backup", "everything that is stored, in one file", "commands_backup"),
                ("restore", "a backup into an empty place", "commands_restore"),
                ("doctor", "check the installation for operator errors", "commands_doctor"),
            ),
        ),
    ),
    tables="schema",
    routes="api:add_routes",
)
