"""Creating, editing and deleting users and giving roles, within a transaction.

For changes of one user (``accounts``) as for many in one transaction. Each function needs a
``DelegationCheck`` of that transaction, whose lock keeps the checked rights unchanged until the
commit.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from service.administration.delegation import DelegationCheck
from service.administration.events import BEFORE_ACCOUNT_EDIT, BEFORE_ROLES_TAKEN
from service.administration.lasting import FOR_GOOD
from service.administration.own_credentials import require_credentials
from service.administration.role_demands import require_plain
from service.administration.unit_of_work import UnitOfWork
from service.errors import ValidationFailed
from service.kernel.account_acts import Act
from service.kernel.core_sentences import sentence
from service.kernel.fields import spelt
from service.kernel.identity import Kind, Target
from service.kernel.notify import Notices, acted_by
from service.records import accounts, assignments, user_list
from service.records.assignments import Given
from service.records.database.transactions import Connection
from service.records.user_list import User, UserValues

MAX_ROLES: Final = 100

MANAGED: Final = ("user_name", "nick_name", "email", "phone", "status")
"""The fields of an account that the directory decides which manages it."""

AccountValues = Mapping[str, Any]
"""The given fields of ``UserValues``; absent fields are unchanged, and None clears a field."""
AddressChanged = Callable[[Connection, User | None, User, int | None], Awaitable[None]]
"""Receives each edited user before and after, or each new user, in its transaction, and the editor's id."""


def require_kind(kind: Kind, values: AccountValues) -> None:
    """Raise ValidationFailed if ``values`` are not for an account of that kind."""
    if kind != values.get("kind", kind):
        raise ValidationFailed(("kind", sentence("unchangeable")))
    if kind != "service" and values.get("service") is not None:
        raise ValidationFailed(("service", sentence("only_for_services")))


_ACTS: Final[Mapping[str, Act]] = {
    "email": "set-contact",
    "phone": "set-contact",
    "service": "set-service",
}
"""The fields whose change is an act of its own; that of others is ``edit``."""


@dataclass(frozen=True, slots=True)
class NewUser:
    """A user to create: ``values`` with both names, the password, and the ids of the roles to give.

    A service account and an ``invited`` person have no password.
    """

    values: AccountValues
    password: str | None = field(repr=False)
    role_ids: Collection[int] = ()
    invited: bool = False


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


def created_by(bound_to: str | None, values: AccountValues) -> AccountValues:
    """Return ``values`` of a new user with the omitted kind and service, if they follow from the caller.

    A caller who is ``bound_to`` a service creates service accounts of that service, unless the values differ.
    """
    if bound_to is None or values.get("kind", "service") != "service":
        return values
    return {"kind": "service", "service": bound_to, **values}


async def add(unit: UnitOfWork, new: NewUser, password_hash: str | None) -> User:
    """Write a new user with the roles of ``new``; its ``values`` have been checked.

    Raises ``ValidationFailed`` for unknown roles, and for a service that no account may be bound to. Raises
    ``PermissionDenied`` if the caller may not create this kind of account. Raises it also if a role gives, or
    would give if all were enabled, a code that the caller lacks. Raises ``Conflict`` for a taken name.
    """
    account = unit.check.new_account(new.values)
    await _require_assignable(unit.connection, new.role_ids)
    await unit.check.require_roles(unit.connection, new.role_ids, until=FOR_GOOD)
    unit.authorized()
    role_ids = sorted(set(new.role_ids))
    user_id = await accounts.create(unit.connection, password_hash, account, role_ids)
    if creator_can_sign_in(new.values, password_hash):
        await unit.check.take_over(unit.connection, [user_id], "made")
    return await user_list.read(unit.connection, user_id)


def creator_can_sign_in(values: AccountValues, password: str | None) -> bool:
    """Return whether the creator of an account with ``values`` and ``password`` could act as it.

    False while the account has no credentials: a mailed invitation admits only its owner.
    """
    return password is not None or values.get("kind") == "service"


async def edit(
    connection: Connection,
    check: DelegationCheck,
    target: Target,
    before: User,
    values: AccountValues,
    *,
    notices: Notices,
    role_ids: Collection[int] | None = None,
) -> Edit:
    """Store ``values``, which have been checked, and with ``role_ids`` the roles; the rest is unchanged.

    The user is notified of a changed address and of changed roles.

    ``before`` is the stored user. Raises ``ValidationFailed`` for unknown roles, and for a field of another
    kind of account. Raises ``PermissionDenied`` for a change that the caller may not make to this account,
    such as a change of the caller's own roles. Raises it also if an assigned or revoked role gives a code
    that the caller lacks. Raises ``Conflict`` for a taken name, and for a field that a directory manages.
    """
    values = spelt(UserValues, values)
    require_kind(before.kind, values)
    if any(values.get(name, getattr(before, name)) != getattr(before, name) for name in MANAGED):
        await BEFORE_ACCOUNT_EDIT.emit(connection, before.id, check.directory)
    for name, act in _ACTS.items():
        if values.get(name, getattr(before, name)) != getattr(before, name):
            await check.require_act(connection, target, act, name)
    if target.whom == "self" and values.get("email", before.email) != before.email:
        await require_credentials(connection, check, target)
    if (service := values.get("service")) not in (None, before.service):
        check.require_foreign("service", service)
    if (status := values.get("status", before.status)) != before.status:
        act = "enable" if status == "enabled" else "disable"
        await check.require_act(connection, target, act, "status")
    if role_ids is not None:
        await _set_roles(connection, check, target, before, role_ids)
    user_id, by = target.user_id, acted_by(target)
    if (email := values.get("email", before.email)) != before.email:
        # Before the update, which may take away the address that the user has confirmed.
        facts, also = {"email": email}, None if before.recovery_email else before.email
        await notices.notify(connection, user_id, "address_changed", by, facts, also=also)
    await accounts.update(connection, target, values, agreed=email != before.email and target.whom == "self")
    after = await user_list.read(connection, user_id)
    had, has = ({role.role_code for role in user.roles} for user in (before, after))
    if had != has:
        changed = {"givenRoles": sorted(has - had) or None, "takenRoles": sorted(had - has) or None}
        await notices.notify(connection, user_id, "roles_changed", by, changed)
    return Edit(target, before, after)


async def remove(connection: Connection, target: Target) -> None:
    await accounts.delete(connection, target)


async def _set_roles(
    connection: Connection, check: DelegationCheck, target: Target, before: User, role_ids: Collection[int]
) -> None:
    had, requested = {role.id for role in before.roles}, set(role_ids)
    if had == requested:
        return
    await check.require_act(connection, target, "set-roles", "roles")
    await _require_assignable(connection, role_ids, had)
    await check.require_roles(connection, had - requested)
    await check.require_roles(connection, requested - had, until=FOR_GOOD)
    if taken := sorted(had - requested):
        await BEFORE_ROLES_TAKEN.emit(connection, before.id, taken)
        await assignments.revoke_roles(connection, target, taken)
    await assignments.give(connection, target, [Given(role_id) for role_id in sorted(requested - had)])


async def _require_assignable(
    connection: Connection, role_ids: Collection[int], had: Collection[int] = ()
) -> None:
    """Check that the roles exist, and that those not in ``had`` may be assigned without further data."""
    unknown = await accounts.unknown_roles(connection, role_ids)
    faults = [
        (f"roleIds[{place}]", sentence("no_such_role"))
        for place, role_id in enumerate(role_ids)
        if role_id in unknown
    ]
    if faults:
        raise ValidationFailed(*faults)
    await require_plain(connection, list(role_ids), had)


def _as_tokens_say(user: User) -> tuple[object, ...]:
    return (user.user_name, user.status, user.roles, user.service)
