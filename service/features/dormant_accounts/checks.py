"""The check of dormant accounts."""

from typing import Final

from service.features.dormant_accounts import store
from service.features.dormant_accounts.sentences import sentence
from service.operator.findings import Check, Finding, Installation, few, ok, warning

_MANY: Final = 5


async def dormant_accounts(installation: Installation) -> Finding:
    """Warn about dormant accounts, whose misuse their owners would not notice."""
    auth = installation.settings.auth
    if not auth.dormant_days:
        return ok(sentence("dormancy_off"))
    async with installation.records() as connection:
        quiet = await store.quiet(connection, auth.dormant_days)
    if not quiet:
        return ok(sentence("no_dormant_account", days=auth.dormant_days))
    names = few((each.user_name for each in quiet), most=_MANY)
    return warning(
        sentence("dormant_accounts", count=len(quiet), days=auth.dormant_days, names=names),
        sentence("dormant_are_disabled"),
        users=[(each.user_id, each.user_name) for each in quiet[:_MANY]],
    )


CHECKS: Final = (Check("dormant-accounts", dormant_accounts, after="request-rules"),)
