"""``portcullis admin create``: creates a user without the API."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import asdict

from service.audit.chain.seals import seals_of
from service.authn.password_rules import PasswordRules
from service.authn.passwords import Passwords
from service.authz.publishing.invariant_guard import InvariantGuard
from service.authz.publishing.live import LivePolicy
from service.authz.publishing.shipped import configured
from service.errors import ValidationFailed
from service.kernel.identity import NewAccount
from service.kernel.names import name_fault
from service.operator.errors import NameFormatError, PasswordError, UnpreparedError
from service.operator.who import asked_password, tell_security
from service.records import accounts, role_rights, user_list
from service.records.database.transactions import Database
from service.records.seed import is_seeded
from service.records.user_list import UserValues
from service.settings import Settings


def create_user(settings: Settings, user_name: str, role_codes: Sequence[str]) -> int:
    """Create an enabled user with the roles of ``role_codes``, ask for the password, and return the id.

    Raises ``NameFormatError``, ``PasswordError``, ``Conflict`` for a taken name and for roles that break an
    invariant, ``ValidationFailed`` for an unknown role, ``UnpreparedError`` for a database that is not seeded
    yet, ``PolicyError`` and ``Unavailable``.
    """
    if fault := name_fault(user_name):
        raise NameFormatError(f"The user name {fault}")
    password, user = asked_password(), UserValues(user_name=user_name, nick_name=user_name)
    if complaint := PasswordRules(settings.password).complaint(password, user):
        raise PasswordError(f"The password {complaint}")
    user_id = asyncio.run(_create(settings, user, password, role_codes))
    tell_security(
        settings,
        "a user was created by the operator",
        login_id=str(user_id),
        user_name=user_name,
        roles=sorted(set(role_codes)),
    )
    return user_id


async def _create(settings: Settings, user: UserValues, password: str, role_codes: Sequence[str]) -> int:
    live = LivePolicy(configured(settings.policy), seals_of(settings.oplog))
    passwords = Passwords(settings.password)
    # One connection is for the policy, which is read while the other holds the lock of rights.
    database = Database(settings.database.url, pool_size=2, timeout=settings.database.timeout)
    try:
        password_hash = await passwords.hash(password)
        async with database.transaction() as connection:
            if not await is_seeded(connection):
                raise UnpreparedError("The database has no roles yet: start the service once, then try again")
            await role_rights.lock(connection)  # no role can be deleted until the commit
            if live.invariants.about_roles:
                await live.load(database)
            roles = await user_list.role_ids(connection, role_codes)
            if unknown := sorted(set(role_codes) - set(roles)):
                raise ValidationFailed(*(("role", f"there is no role {code}") for code in unknown))
            async with InvariantGuard(live).keeping(connection):
                return await accounts.create(
                    connection, password_hash, NewAccount(asdict(user)), list(roles.values())
                )
    finally:
        passwords.close()
        await database.close()
