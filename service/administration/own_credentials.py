"""Changes of a caller's own password and address, by a proof of the current password.

The proof is a fact about the request, ``@current-password``, for the policy layer ``assurance``.
"""

from collections.abc import Callable
from dataclasses import dataclass

from service.administration.delegation import Delegation, DelegationCheck
from service.authn.password_change import PasswordChange
from service.kernel.account_acts import Act
from service.kernel.assurance import words_proving
from service.kernel.identity import Caller, Target, oneself
from service.kernel.origin import ORIGIN
from service.records import accounts
from service.records.database.transactions import Connection


async def require_credentials(connection: Connection, check: DelegationCheck, target: Target) -> None:
    """Check that callers may change their own password or address; raises the refusal of the policy else.

    The account determines the act: ``change-credentials`` for an account with a password,
    ``change-credentials-by-factor`` for an account without. An account with a second factor also needs
    ``change-credentials-beside-factor``. A service account has nothing to recover.
    """
    known = await accounts.credentials_of(connection, target.user_id)
    if known is None:
        return
    act: Act = "change-credentials" if known.password_hash is not None else "change-credentials-by-factor"
    await check.require_act(connection, target, act)
    if known.second_factor:
        await check.require_act(connection, target, "change-credentials-beside-factor")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class OwnCredentials:
    """Verifies the current password, and changes a caller's own password."""

    delegation: Delegation
    passwords: PasswordChange
    now: Callable[[], float]
    """Return the time for the age of a proof, in seconds."""

    async def prove(self, caller: Caller, current: str | None, *, address: str, user_agent: str) -> None:
        """Note for the request that ``current`` is the caller's password; None proves nothing.

        Raises as ``PasswordChange.prove`` does.
        """
        if current is not None:
            await self.passwords.prove(caller, current, address=address, user_agent=user_agent)
            self._note(caller)

    async def change_password(
        self, caller: Caller, current: str, new: str, *, address: str, user_agent: str
    ) -> None:
        """Set the caller's own password, as ``PasswordChange.change`` does, if the policy allows it."""

        async def authorize(connection: Connection) -> Target:
            self._note(caller)
            check = await self.delegation.of_own_account(connection, caller)
            await require_credentials(connection, check, oneself(caller))
            return oneself(caller)

        await self.passwords.change(caller, current, new, authorize, address=address, user_agent=user_agent)

    def _note(self, caller: Caller) -> None:
        origin = ORIGIN.get()
        if origin is not None and caller.authentication is not None:
            origin.satisfied = words_proving(caller.authentication, self.now())
