"""Personal data: where it is stored, copies of it for people, and its erasure."""

from service.kernel.feature import Feature, FeatureCommands

FEATURE = Feature(
    name="personal_data",
    title="Personal data: its inventory, copies for people, and erasures",
    needs=("audit_proof",),
    paths=("/api/user/profile/data", "/api/user/{id}/erasure"),
    by_people={"erase": "erase_by_key"},
    enumerations={"ArchiveKind": "backup evidence file", "LogName": "login_log operation_log"},
    commands=(
        FeatureCommands(
            "user",
            (
                ("data", "print the personal data of a user, as JSON", "commands_data"),
                ("erase", "delete a user, and erase the personal data in tables and logs", "commands_erase"),
            ),
            help="personal data of users",
            after="admin",
        ),
    ),
    sentences="sentences:sentence",
    tables="schema",
    routes="api:add_routes",
    jobs="jobs:jobs",
)
