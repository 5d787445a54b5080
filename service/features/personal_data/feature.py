"""Personal data: where it is stored, and copies of it for people."""

from service.kernel.feature import Feature, FeatureCommands

FEATURE = Feature(
    name="personal_data",
    title="Personal data: its inventory, and copies for people",
    paths=("/api/user/profile/data",),
    commands=(
        FeatureCommands(
            "user",
            (("data", "print the personal data of a user, as JSON", "commands_data"),),
            help="personal data of users",
            after="admin",
        ),
    ),
    routes="api:add_routes",
)
