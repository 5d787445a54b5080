"""The check of emergencies that are not closed."""

from typing import Final

from service.features.access_requests import store
from service.features.access_requests.sentences import sentence
from service.operator.findings import Check, Finding, Installation, few_of, ok, warning

_MOST: Final = 5  # accounts named in the finding


async def emergencies(installation: Installation) -> Finding:
    """Warn about roles granted in an emergency without approval, which another person must close."""
    async with installation.records() as connection:
        unclosed = await store.open_emergencies(connection)
    if not unclosed:
        return ok(sentence("no_open_emergency"))
    named = [
        sentence("role_of_request", role=each.role_code, user=each.user_name, request=each.id)
        for each in unclosed
    ]
    return warning(
        sentence("open_emergencies", count=len(unclosed), names=few_of(named)),
        sentence("close_emergencies"),
        users=dict.fromkeys((each.user_id, each.user_name) for each in unclosed[:_MOST]),
    )


CHECKS: Final = (Check("emergencies", emergencies, after="role-ends"),)
"""The check of emergencies."""
