"""The check of dormant accounts."""

from typing import Final

from service.features.dormant_accounts import store
from service.operator.findings import Check, Finding, Installation, few, ok, warning

_MANY: Final = 5


async def dormant_accounts(installation: Installation) -> Finding:
    """Warn about dormant accounts, whose misuse their owners would not notice."""
    auth = installation.settings.auth
    if not auth.dormant_days:
        return ok("auth.dormant_days is 0: dormant accounts are not disabled")
    async with installation.records() as connection:
        quiet = await store.quiet(connection, auth.dormant_days)
    if not quiet:
        return ok(f"every account was used within {auth.dormant_days} days, or its last use is unknown")
    names = few((each.user_name for each in quiet), most=_MANY)
    return warning(
        f"{len(quiet)} accounts were not used for {auth.dormant_days} days: {names}",
        "the job dormant-accounts disables them, but never the last administrator",
        users=[(each.user_id, each.user_name) for each in quiet[:_MANY]],
    )


CHECKS: Final = (Check("dormant-accounts", dormant_accounts, after="request-rules"),)
