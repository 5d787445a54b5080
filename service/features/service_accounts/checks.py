"""The check of ``doctor`` about API keys."""

from typing import Final

from service.features.service_accounts import store
from service.features.service_accounts.jobs import REMIND
from service.kernel.clock import rfc3339
from service.kernel.text import counted, printable
from service.operator.findings import NAMED, Check, Finding, Installation, few, ok, warning


async def expiring_keys(installation: Installation) -> Finding:
    """Programs whose key has expired are refused."""
    async with installation.records() as connection:
        keys = await store.expiring(connection, REMIND)
    if not keys:
        return ok(f"none expires within {REMIND.days} days")
    named = [
        f"{printable(key.key_name)} of {printable(key.user_name)} ({rfc3339(key.expire_time)})"
        for key in keys
    ]
    verb = "expires" if len(keys) == 1 else "expire"
    return warning(
        f"{counted(len(keys), 'key')} {verb} within {REMIND.days} days: {few(named)}",
        "make new keys for these accounts, and give them to their programs",
        users=dict.fromkeys((key.user_id, key.user_name) for key in keys[:NAMED]),
    )


CHECKS: Final = (Check("api-keys", expiring_keys, after="dormant-accounts"),)
"""The checks of the feature."""
