"""Directories, which manage accounts and give roles."""

from service.kernel.feature import Feature

FEATURE = Feature(
    name="directories",
    title="Directories that manage accounts and give roles",
    listens={
        "before-account-edit": "managed:require_unmanaged",
        "before-roles-taken": "managed:require_not_given",
    },
)
