"""The check of ``doctor`` about API keys."""

from typing import Final

from service.features.service_accounts import store
from service.features.service_accounts.jobs import REMIND
from service.features.service_accounts.sentences import sentence
from service.kernel.clock import rfc3339
from service.operator.findings import NAMED, Check, Finding, Installation, few_of, ok, warning


async def expiring_keys(installation: Installation) -> Finding:
    """Programs whose key has expired are refused."""
    async with installation.records() as connection:
        keys = await store.expiring(connection, REMIND)
    if not keys:
        return ok(sentence("no_key_expires", days=REMIND.days))
    named = [
        sentence("key_of_user", key=key.key_name, user=key.user_name, time=rfc3339(key.expire_time))
        for key in keys
    ]
    return warning(
        sentence("keys_expire", count=len(keys), days=REMIND.days, keys=few_of(named)),
        sentence("replace_keys"),
        users=dict.fromkeys((key.user_id, key.user_name) for key in keys[:NAMED]),
    )


CHECKS: Final = (Check("api-keys", expiring_keys, after="dormant-accounts"),)
"""The checks of the feature."""
