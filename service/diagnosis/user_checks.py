"""Checks of the users who may do everything."""

from __future__ import annotations

from datetime import timedelta

from service.diagnosis.findings import Finding, fault, ok, warning
from service.diagnosis.installation import Installation
from service.diagnosis.upkeep_checks import NEW
from service.kernel.names import name_key
from service.records.seed_catalogue import ADMINISTRATOR
from service.records.user_overview import administrators

_MANY = 5
_FIRST_PASSWORD = timedelta(days=1)


async def enough_administrators(installation: Installation) -> Finding:
    """With none nobody can administer, one is easily locked out, and many are many targets."""
    async with installation.records() as connection:
        admins = await administrators(connection)
    names = ", ".join(admin.user_name for admin in admins[:_MANY])
    if not admins:
        return fault(
            "no enabled user holds *",
            "portcullis admin reset-password NAME --enable, or portcullis admin create NAME --role super",
        )
    if len(admins) == 1 and admins[0].now - admins[0].create_time < NEW:
        return ok(f"only {names} holds *; the installation is new")
    if len(admins) == 1:
        return warning(f"only {names} holds *", "give a second person a role with it")
    if len(admins) > _MANY:
        return warning(
            f"{len(admins)} users hold *: {names} and others", "give those who need less a smaller role"
        )
    return ok(f"{len(admins)} users hold *: {names}")


async def first_administrator(installation: Installation) -> Finding:
    """The name is well known, and logs may hold the first password."""
    name = ADMINISTRATOR.user_name
    async with installation.records() as connection:
        admins = await administrators(connection)
    first = [admin for admin in admins if name_key(admin.user_name) == name_key(name)]
    if not first:
        return ok(f"no administrator is called {name}")
    if first[0].password_time is None:
        age = first[0].now - first[0].create_time
        if age < _FIRST_PASSWORD:
            return ok(f"{name} has the password of the first start, less than a day old")
        return warning(
            f"{name} still has the password of the first start, {age.days} days old",
            f"portcullis admin reset-password {name}",
            users=[(first[0].id, name)],
        )
    return ok(f"{name} has had another password since the first start")
