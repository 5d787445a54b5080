"""Checks of the users who may do everything."""

from __future__ import annotations

from service.diagnosis.findings import Finding, fault, ok, warning
from service.diagnosis.installation import Installation
from service.kernel.names import name_key
from service.records.seed.data import ADMINISTRATOR
from service.records.users.overview import administrators

_MANY = 5


async def enough_administrators(installation: Installation) -> Finding:
    """With none nobody can administer, one is easily locked out, and many are many targets."""
    async with installation.records() as connection:
        found = await administrators(connection)
    names = ", ".join(one.user_name for one in found[:_MANY])
    if not found:
        return fault(
            "no enabled user holds *",
            "portcullis admin reset-password NAME --enable, or portcullis admin create NAME --role super",
        )
    if len(found) == 1:
        return warning(f"only {names} holds *", "give a second person a role with it")
    if len(found) > _MANY:
        return warning(
            f"{len(found)} users hold *: {names} and others", "give those who need less a smaller role"
        )
    return ok(f"{len(found)} users hold *: {names}")


async def first_administrator(installation: Installation) -> Finding:
    """The name is well known, and logs may hold the first password."""
    async with installation.records() as connection:
        found = await administrators(connection)
    first = [one for one in found if name_key(one.user_name) == name_key(ADMINISTRATOR)]
    if not first:
        return ok(f"no administrator is called {ADMINISTRATOR}")
    if not first[0].edited:
        days = (first[0].now - first[0].create_time).days
        return warning(
            f"{ADMINISTRATOR} still has the password of the first start, {days} days old",
            f"portcullis admin reset-password {ADMINISTRATOR}",
        )
    return ok(f"{ADMINISTRATOR} has been changed since the first start")
