"""Subjects of questions about the policy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from service.errors import ValidationFailed
from service.kernel.codes import HeldCodes, is_code
from service.records.database.transactions import Connection
from service.records.roles import rights
from service.records.users import accounts


@dataclass(frozen=True, slots=True)
class Subject:
    """The held codes, None for a caller without a session; ``status`` is that of a stored user."""

    held: HeldCodes | None
    status: str | None = None


async def subject_of(
    connection: Connection, user_name: str | None, permissions: Sequence[str] | None
) -> Subject:
    """Return a user by name, or a holder of ``permissions``; with neither, a visitor.

    Raises ValidationFailed for both together, an unknown user, and an invalid permission code.
    """
    if user_name is not None and permissions is not None:
        raise ValidationFailed(("permissions", "Name a user or permissions, not both"))
    if user_name is not None:
        return await _user(connection, user_name)
    if permissions is None:
        return Subject(None)
    faults = [
        (f"permissions[{place}]", "This is no permission code")
        for place, code in enumerate(permissions)
        if not is_code(code)
    ]
    if faults:
        raise ValidationFailed(*faults)
    return Subject(HeldCodes(permissions))


async def _user(connection: Connection, user_name: str) -> Subject:
    found = await accounts.credentials(connection, user_name)
    if found is None:
        raise ValidationFailed(("userName", "There is no such user"))
    held = await rights.of(connection, found.user_id)
    return Subject(HeldCodes(held.permissions), found.status)
