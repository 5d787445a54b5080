"""The check of the names of directories."""

from typing import Final

from service.features.directories import store
from service.features.directories.sentences import sentence
from service.operator.findings import Check, Finding, Installation, fault, few, ok


async def directory_names(installation: Installation) -> Finding:
    """Report provisioning directories and providers of the same name: they would end each other's roles."""
    providers = installation.settings.oidc.names
    if not providers:
        return ok(sentence("no_provider"))
    async with installation.records() as connection:
        every = await store.every(connection)
    shared = [each.name for each in every if each.kind == "scim" and each.name in providers]
    if not shared:
        return ok(sentence("no_name_shared"))
    return fault(
        sentence("names_shared", names=few(shared)),
        sentence("rename_newer"),
    )


CHECKS: Final = (Check("directory-names", directory_names, after="way-in"),)
"""Checks of directories."""
