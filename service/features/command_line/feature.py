"""The feature of operator commands."""

from service.kernel.feature import Feature, FeatureCommands

_POLICY = "commands_policy"
_DATABASE = "commands_database"
_RESET = "commands_admin_reset"

FEATURE = Feature(
    name="command_line",
    title="Commands of the operator: users without the API, keys, the database, and registered routes",
    needs=("policy_checks",),
    commands=(
        FeatureCommands(
            "policy",
            (
                ("republish", "publish what is stored anew, whatever the newest revision says", _POLICY),
                ("sync", "register the routes that are not registered", _POLICY),
                (
                    "unlock",
                    "print the resources that lock everybody out, or open one to users who hold *",
                    _POLICY,
                ),
            ),
        ),
        FeatureCommands(
            "keys",
            (
                (
                    "rotate",
                    "make a new signing key, and keep the present one as the previous one",
                    "commands_keys",
                ),
            ),
            help="the keys that sign tokens",
            after="policy",
        ),
        FeatureCommands(
            "db",
            (
                ("migrate", "bring it to this version's schema; seed nothing", _DATABASE),
                (
                    "check",
                    "say what a migration would do; exit status 3 if there is anything to do",
                    _DATABASE,
                ),
            ),
            help="the database",
            after="jobs",
        ),
        FeatureCommands(
            "admin",
            (
                ("create", "create a user; the password is asked for", "commands_admin_create"),
                ("reset-password", "set a password, which is asked for, and end all sessions", _RESET),
                ("reset-factors", "remove all second factors of a user, and end all sessions", _RESET),
                ("list", "list users, and mark holders of all permissions", "commands_admin_list"),
            ),
            help="users, without the API",
            after="db",
        ),
    ),
)
