"""Subjects of questions about the policy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from service.authz.review.explain import BY_NAME
from service.errors import ValidationFailed
from service.kernel.assurance import BY_STRONGEST, SERVICE, Satisfied
from service.kernel.codes import HeldCodes, is_code
from service.records import accounts, role_holdings, role_rights
from service.records.database.transactions import Connection


@dataclass(frozen=True, slots=True)
class Subject:
    """The held codes, None for a caller without a session; the rest is about a stored user or role.

    ``kept_out`` says whether the user is disabled or banned: then the service serves none of their requests.
    ``satisfied`` is what the subject is supposed to satisfy if it is logged in.
    """

    held: HeldCodes | None
    status: str | None = None
    user_id: int | None = None
    role_code: str | None = None
    kept_out: bool = False
    satisfied: Satisfied = BY_NAME


async def subject_of(
    connection: Connection,
    user_name: str | None,
    permissions: Sequence[str] | None,
    role_code: str | None = None,
) -> Subject:
    """Return a user by name, a holder of ``permissions``, or of one role; with none of them, a visitor.

    Raises ValidationFailed for several, an unknown user or role, and an invalid permission code.
    """
    if sum(given is not None for given in (user_name, permissions, role_code)) > 1:
        raise ValidationFailed(("permissions", "Name only one: a user, a role or permissions"))
    if user_name is not None:
        return await _user(connection, user_name)
    if role_code is not None:
        return await _role(connection, role_code)
    return Subject(None) if permissions is None else holder_of(permissions)


def holder_of(permissions: Sequence[str]) -> Subject:
    """Return a holder of ``permissions``; ValidationFailed for an invalid permission code."""
    faults = [
        (f"permissions[{place}]", "This is no permission code")
        for place, code in enumerate(permissions)
        if not is_code(code)
    ]
    if faults:
        raise ValidationFailed(*faults)
    return Subject(HeldCodes(permissions))


async def _user(connection: Connection, user_name: str) -> Subject:
    account = await accounts.standing(connection, user_name)
    if account is None:
        raise ValidationFailed(("userName", "There is no such user"))
    return await subject_with(connection, account)


async def subject_with(connection: Connection, standing: accounts.Standing) -> Subject:
    """Return a stored user, with what they hold now."""
    held = await role_rights.of(connection, standing.user_id)
    kept_out = standing.banned or standing.status != "enabled"
    return Subject(
        HeldCodes(held.permissions),
        standing.status,
        standing.user_id,
        kept_out=kept_out,
        satisfied=BY_STRONGEST[SERVICE] if standing.kind == "service" else BY_NAME,
    )


async def _role(connection: Connection, role_code: str) -> Subject:
    given = (await role_holdings.read_codes(connection)).get(role_code)
    if given is None:
        raise ValidationFailed(("roleCode", "There is no such role"))
    return Subject(HeldCodes(given), role_code=role_code)
