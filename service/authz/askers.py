"""On whose behalf a question about the policy is asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from service.errors import ValidationFailed
from service.kernel.codes import HeldCodes, is_code
from service.records import rights, users
from service.records.database import Connection


@dataclass(frozen=True, slots=True)
class Asker:
    """What somebody holds, None for a caller without a session; ``status`` is that of a stored user."""

    held: HeldCodes | None
    status: str | None = None


async def asker(connection: Connection, user_name: str | None, permissions: Sequence[str] | None) -> Asker:
    """Return a user by name, or whoever holds ``permissions``; with neither, a visitor.

    ValidationFailed for both at once, an unknown user, and what is no permission code.
    """
    if user_name is not None and permissions is not None:
        raise ValidationFailed(("permissions", "Name a user or permissions, not both"))
    if user_name is not None:
        return await _user(connection, user_name)
    if permissions is None:
        return Asker(None)
    faults = [
        (f"permissions[{place}]", "This is no permission code")
        for place, code in enumerate(permissions)
        if not is_code(code)
    ]
    if faults:
        raise ValidationFailed(*faults)
    return Asker(HeldCodes(permissions))


async def _user(connection: Connection, user_name: str) -> Asker:
    found = await users.credentials(connection, user_name)
    if found is None:
        raise ValidationFailed(("userName", "There is no such user"))
    held = await rights.of(connection, found.user_id)
    return Asker(HeldCodes(held.permissions), found.status)
