"""When the codes that an assignment gives were last needed, as far as use is recorded."""

from collections.abc import Sequence
from datetime import date
from typing import Protocol

from sqlalchemy.ext.asyncio import AsyncConnection


class OfRole(Protocol):
    """An assignment of a role to a user."""

    @property
    def id(self) -> int:
        """Its id."""

    @property
    def user_id(self) -> int:
        """Whose it is."""

    @property
    def role_code(self) -> str:
        """Of which role."""


async def recorded_since(connection: AsyncConnection) -> date | None:  # noqa: ARG001 - see below
    """Return the first day of which use is recorded; None where it is not: then nothing is known of use."""
    return None


async def last_used(
    connection: AsyncConnection,  # noqa: ARG001 - use is not recorded yet
    assignments: Sequence[OfRole],
) -> dict[int, date | None]:
    """Return, by the id of each assignment, the last day on which a code of its role was needed by its user.

    None for no recorded use; see ``recorded_since``.
    """
    return {each.id: None for each in assignments}
