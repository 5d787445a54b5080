"""The account on which a caller acts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from service.kernel.account_acts import Whom
from service.kernel.identity import Caller


@dataclass(frozen=True, slots=True)
class Target:
    """A user on whom a caller may act; functions that change, ban or log out a user take one.

    Only ``service/administration/delegation.py``, after asking the policy, and ``oneself`` make one: so no
    function can act on another user without that check. ``whom`` says whose account it is, to the caller.
    """

    user_id: int
    whom: Whom

    @property
    def login_id(self) -> str:
        """The user's id as the session store and tokens name it."""
        return str(self.user_id)


@dataclass(frozen=True, slots=True)
class NewAccount:
    """An account that a caller may create, by some of the ``UserValues``; what writes new users takes one.

    Only ``service/administration/delegation.py``, after asking the policy, and the operator's commands make
    one.
    """

    values: Mapping[str, Any]


def oneself(caller: Caller) -> Target:
    """Return the caller as the target of what users may do to their own account."""
    return Target(caller.user_id, "self")
