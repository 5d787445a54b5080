"""Doctor checks: administrators without a second factor, and the key of the factors' secrets."""

import os
from datetime import timedelta
from typing import Final

from service.features.second_factors import store
from service.features.second_factors.sealing import ID_BYTES, FactorKeys
from service.features.second_factors.sentences import sentence
from service.kernel.feature import provided
from service.operator.findings import Check, Finding, Installation, fault, few, ok, warning
from service.records.user_overview import administrators
from service.settings import SettingsError, local_factor_key, local_previous_factor_key

_LOCAL_FILE: Final = "factor_key"
_MANY: Final = 5
_NEW: Final = timedelta(days=7)
"""The age below which an account is new, so that a missing factor is no warning."""


async def second_factors(installation: Installation) -> Finding:
    """Without a second factor, only a password protects an account."""
    async with installation.records() as connection:
        admins = await administrators(connection)
    without = [admin for admin in admins if not admin.second_factor]
    if not without:
        return ok(sentence("factors_of_administrators", count=len(admins)))
    names = few((admin.user_name for admin in without), most=_MANY)
    counts = {"count": len(without), "all": len(admins), "names": names}
    if all(admin.now - admin.create_time < _NEW for admin in without):
        return ok(sentence("new_administrators_without_factor", **counts))
    return warning(
        sentence("administrators_without_factor", **counts),
        sentence("enrol_factors"),
        users=[(admin.id, admin.user_name) for admin in without[:_MANY]],
    )


async def factor_key(installation: Installation) -> Finding:
    """Users can't log in with an app whose secret's encryption key is missing."""
    try:
        keys = _keys(installation)
    except SettingsError as wrong:
        return fault(wrong.faults[0].message, "restore the file from a backup of the keys")
    async with installation.records() as connection:
        counts = await store.count_by_key(connection, ID_BYTES)
        of_links = [await count(connection, ID_BYTES) for count in provided("sealed-links").values()]
    lost = sum(count for key_id, count in counts.items() if key_id not in keys.known)
    if lost:
        return fault(
            f"{lost} apps have secrets that neither auth.factor_key nor auth.factor_previous_key opens",
            "set the key that they were made with, or reset the factors of their users",
        )
    if keys.current is None:
        return ok("there is none: nobody can enrol an authenticator app")
    others = keys.known - {keys.current}  # a link that no key opens expires with its mail, within a day
    before = sum(each.get(key_id, 0) for each in (counts, *of_links) for key_id in others)
    if before:
        return ok(f"{before} secrets wait for the job factor-keys, which encrypts them with the new key")
    if len(keys.known) > 1:
        return warning(
            "nothing needs the previous key any more",
            "remove auth.factor_previous_key, or the file factor_previous_key of the data directory",
        )
    return ok(f"it has encrypted the secrets of {sum(counts.values())} apps")


def _keys(installation: Installation) -> FactorKeys:
    """Return the keys of the settings, or those in the data directory of an embedded database."""
    settings = installation.settings
    data = settings.server.data
    if settings.auth.factor_key or settings.external or not os.path.lexists(data / _LOCAL_FILE):
        return FactorKeys.of(settings.auth)
    return FactorKeys(local_factor_key(data), local_previous_factor_key(data))


CHECKS: Final = (
    Check("second-factors", second_factors, after="addresses"),
    Check("factor-key", factor_key, local=True, after="request-rules"),
)
"""The checks of second factors."""
