"""On whom a caller acts."""

from __future__ import annotations

from dataclasses import dataclass

from service.kernel.identity import Caller


@dataclass(frozen=True, slots=True)
class Target:
    """A user on whom a caller may act: whatever changes, keeps out or logs out a user takes one.

    Made by ``service/administration/delegation.py`` alone, once it has compared what the caller and the user
    hold, and by ``oneself``: so no act on another user goes without that check.
    """

    user_id: int

    @property
    def login_id(self) -> str:
        """The user's id as the session store and tokens name it."""
        return str(self.user_id)


def oneself(caller: Caller) -> Target:
    """Return the caller as the target of what all may do to their own account."""
    return Target(caller.user_id)
