"""The check of emergencies that are not closed."""

from typing import Final

from service.features.access_requests import store
from service.operator.findings import Check, Finding, Installation, few, ok, warning

_MOST: Final = 5  # accounts named in the finding


async def emergencies(installation: Installation) -> Finding:
    """Warn about roles granted in an emergency without approval, which another person must close."""
    async with installation.records() as connection:
        unclosed = await store.open_emergencies(connection)
    if not unclosed:
        return ok("all emergencies are closed")
    names = [f"{each.role_code} of {each.user_name} (access request {each.id})" for each in unclosed]
    return warning(
        f"{len(unclosed)} roles were granted in an emergency that is not closed: {few(names)}",
        "ask an approver of the request to close it: docs/reference/roles-and-menus.md",
        users=dict.fromkeys((each.user_id, each.user_name) for each in unclosed[:_MOST]),
    )


CHECKS: Final = (Check("emergencies", emergencies, after="role-ends"),)
"""The check of emergencies."""
