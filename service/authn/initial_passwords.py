"""Passwords that their owners have to change first: those that others have set, and those known from leaks.

What a session with such a password may do is said by the policy alone (the word ``@initial``). This tells
which sessions these are, and refuses a login with a password that somebody else has set too long ago.
"""

from __future__ import annotations

from service.authn.password_rules import is_leaked
from service.errors import InitialPasswordExpired
from service.records.accounts import GIVEN, LEAKED, Credentials, Entitled, Initial
from service.settings import Password


class InitialPasswords:
    """Judges stored passwords by the settings; with ``password.initial`` off none of them is initial.

    The marks are stored nevertheless, so that they are there when the setting is turned on.
    """

    def __init__(self, settings: Password) -> None:
        self._judged = settings.initial
        self._timeout = settings.initial_timeout

    def is_initial(self, user: Credentials | Entitled) -> bool:
        """True if ``user`` has to change the password first."""
        return self._judged and user.password_initial is not None

    def require_in_time(self, stored: Credentials) -> None:
        """Raise ``InitialPasswordExpired`` if somebody else set the password longer ago than is allowed.

        One that is initial for a leak does not expire: it would lock out whom nobody has warned.
        """
        if self._judged and stored.password_initial == GIVEN and stored.password_age > self._timeout:
            raise InitialPasswordExpired

    def mark(self, stored: Credentials, password: str) -> Initial | None:
        """Return the mark for the right ``password`` of an account: the stored one, or that of a leak."""
        if not self._judged or stored.password_initial is not None:
            return stored.password_initial
        return LEAKED if is_leaked(password) else None
