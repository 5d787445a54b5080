"""With which methods a caller can get the authentication that a refusal demands."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from service.authn.second_factors import ACR, SecondFactors
from service.kernel.assurance import Challenge
from service.kernel.identity import Caller


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class StepUpMethods:
    """Finds the methods by which callers of refused requests can meet the demand."""

    factors: SecondFactors | None = None
    """Knows the second factors of users; without it users have none."""

    closed_to: Callable[[int], Awaitable[bool]] | None = None
    """Return true for users with disabled passwords: they sign in with a provider, and step up there."""

    async def satisfying(self, caller: Caller, challenge: Challenge) -> tuple[str, ...]:
        """Return those of the caller's methods that meet ``challenge``; none: the caller has to enrol first.

        A user with a second factor steps up with one, and not by the password; in a session that rests on a
        passkey, by a passkey while there is one. A session with an initial
        password gets no further before that is changed. Raises ``Unavailable``.
        """
        if caller.authentication is None or caller.authentication.initial:
            return ()
        factors = self.factors
        if factors is not None and await factors.has_factor(caller.user_id):
            methods = await factors.methods(caller.user_id, caller.authentication.acr)
            return tuple(method for method in methods if ACR[method] in challenge.acr_values)
        if "pwd" not in challenge.acr_values:
            return ()
        return () if self.closed_to is not None and await self.closed_to(caller.user_id) else ("password",)
