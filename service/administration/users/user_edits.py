"""Creating, editing and deleting users and giving roles, within a transaction.

For changes of one user (``accounts``) as for many in one transaction. Each function needs a
``DelegationCheck`` of that transaction, whose lock keeps what was looked at true until the commit.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from service.administration.delegation import DelegationCheck
from service.administration.users import rules
from service.administration.users.rules import AccountValues
from service.errors import Conflict, ValidationFailed
from service.kernel.keyed_write import authorized
from service.kernel.target import Target
from service.records.database.transactions import Connection
from service.records.users import account_writes, listing
from service.records.users.listing import User


@dataclass(frozen=True, slots=True)
class NewUser:
    """A user to create: ``values`` with both names, the password, and the ids of the roles to give.

    A service account has no password.
    """

    values: AccountValues
    password: str | None = field(repr=False)
    role_ids: Collection[int] = ()


@dataclass(frozen=True, slots=True)
class Edit:
    """An edit: the user before and after."""

    target: Target
    before: User
    after: User

    @property
    def revokes_tokens(self) -> bool:
        """True if existing tokens must be revoked.

        A nick name is only shown: tokens and sessions have the new one after the next refresh.
        """
        return _as_tokens_say(self.before) != _as_tokens_say(self.after)


async def add(
    connection: Connection, check: DelegationCheck, new: NewUser, password_hash: str | None
) -> User:
    """Write a new user, whose ``values`` have been checked, in the roles of ``new``.

    Raises ``ValidationFailed`` for unknown roles, ``PermissionDenied`` if a role gives, or would give if all
    were enabled, a code that the caller lacks, and ``Conflict`` for a taken name.
    """
    await _require_roles_exist(connection, new.role_ids)
    await check.require_roles(connection, new.role_ids)
    authorized()
    role_ids = sorted(set(new.role_ids))
    user_id = await account_writes.create(connection, password_hash, new.values, role_ids)
    return await listing.read(connection, user_id)


async def edit(
    connection: Connection,
    check: DelegationCheck,
    target: Target,
    before: User,
    values: AccountValues,
    *,
    role_ids: Collection[int] | None = None,
) -> Edit:
    """Store ``values``, which have been checked, and with ``role_ids`` the roles; the rest is unchanged.

    ``before`` is what is stored of ``target``. Raises ``ValidationFailed`` for roles that do not exist, and
    for a field of another kind of account; ``PermissionDenied`` when a role that is given or taken away gives
    a code that the caller does not hold; ``Conflict`` for a name that is taken, for any change of the
    caller's own roles, for callers who disable themselves, and for a change of the service that an account is
    bound to by a caller who is bound to one.
    """
    rules.require_kind(before.kind, values)
    if check.bound_to is not None and values.get("service", before.service) != before.service:
        raise Conflict("An account that is bound to a service can't change what accounts are bound to")
    if target.user_id == check.user_id and values.get("status") == "disabled":
        raise Conflict("You can't disable your own account")
    if role_ids is not None:
        await _set_roles(connection, check, target, before, role_ids)
    await account_writes.update(connection, target, values)
    return Edit(target, before, await listing.read(connection, target.user_id))


async def remove(connection: Connection, check: DelegationCheck, target: Target) -> None:
    """Delete a user; raises ``Conflict`` for the caller's own account."""
    if target.user_id == check.user_id:
        raise Conflict("You can't delete your own account")
    await account_writes.delete(connection, target)


async def _set_roles(
    connection: Connection, check: DelegationCheck, target: Target, before: User, role_ids: Collection[int]
) -> None:
    had, wanted = {role.id for role in before.roles}, set(role_ids)
    if had == wanted:
        return
    if target.user_id == check.user_id:
        raise Conflict("You can't change your own roles", field="roles")
    await _require_roles_exist(connection, role_ids)
    await check.require_roles(connection, had ^ wanted)
    await account_writes.take_roles(connection, target, sorted(had - wanted))
    await account_writes.give_roles(connection, target, sorted(wanted - had))


async def _require_roles_exist(connection: Connection, role_ids: Collection[int]) -> None:
    unknown = await account_writes.unknown_roles(connection, role_ids)
    faults = [
        (f"roleIds[{place}]", "There is no such role") for place, one in enumerate(role_ids) if one in unknown
    ]
    if faults:
        raise ValidationFailed(*faults)


def _as_tokens_say(user: User) -> tuple[object, ...]:
    return (user.user_name, user.status, user.roles, user.service)
