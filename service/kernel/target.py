"""The user on whom a caller acts."""

from __future__ import annotations

from dataclasses import dataclass

from service.kernel.identity import Caller


@dataclass(frozen=True, slots=True)
class Target:
    """A user on whom a caller may act; functions that change, ban or log out a user take one.

    Only ``service/administration/delegation.py``, after comparing what the caller and the user hold, and
    ``oneself`` make one: so no function can act on another user without that check.
    """

    user_id: int

    @property
    def login_id(self) -> str:
        """The user's id as the session store and tokens name it."""
        return str(self.user_id)


def oneself(caller: Caller) -> Target:
    """Return the caller as the target of what users may do to their own account."""
    return Target(caller.user_id)
