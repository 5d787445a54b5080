"""Directories, which manage accounts and grant roles."""

from service.kernel.feature import Feature, FeatureCommands, FeaturePage

FEATURE = Feature(
    name="directories",
    title="Directories that manage accounts and assign roles",
    tags={"directory": "Directories of people, and their mapped roles."},
    pages=(
        FeaturePage(
            "directory",
            "Directories",
            "contact",
            after="policy",
            permissions=(
                (
                    "list",
                    "Read directories and what they may hand out",
                    ("GET /api/directory/list", "GET /api/directory/{source}"),
                ),
                (
                    "update",
                    "Set what directories may hand out",
                    ("PUT /api/directory/{source}", "DELETE /api/directory/{source}"),
                ),
            ),
        ),
    ),
    enumerations={"DirectoryKind": "oidc scim"},
    commands=(
        FeatureCommands(
            "directory",
            (
                (
                    "cut-off",
                    "disable sign-ins of a directory, and end the sessions from its sign-ins",
                    "cut_off",
                ),
            ),
            help="directories of people",
            after="keys",
        ),
    ),
    sentences="sentences:sentence",
    tables="schema",
    routes="api:add_routes",
    jobs="jobs:jobs",
    checks="checks:CHECKS",
    provides={
        "cut-off": "store:cut_off_providers",
        "sign-in-opens": "store_sign_ins:opens",
    },
    listens={
        "before-account-edit": "managed:require_unmanaged",
        "before-roles-taken": "managed:refuse_directory_roles",
    },
)
