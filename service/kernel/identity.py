"""The authenticated caller of a request."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from service.kernel.codes import HeldCodes

OPERATOR_ID: Final = 0
"""The user id of the operator at the command line, who is no user."""


@dataclass(frozen=True, slots=True)
class Caller:
    """The user of a device session, from the access token and the live permission map.

    ``login_id`` is the ``sub`` of the token: the user id in decimal. ``held`` are the codes in force for
    this request; ``issued_at`` is the token's ``iat`` in seconds since the epoch, with a fraction.
    """

    user_id: int
    login_id: str
    user_name: str
    nick_name: str
    device: str
    roles: tuple[str, ...]
    held: HeldCodes
    issued_at: float

    @property
    def is_operator(self) -> bool:
        """Whether it is the operator; ``user_name`` is then the name of an account of the system."""
        return self.user_id == OPERATOR_ID
