"""With which methods a caller can get the authentication that a refusal demands."""

from collections.abc import Awaitable, Callable

from service.authn.second_factors import ACR, SecondFactors
from service.kernel.assurance import Challenge
from service.kernel.identity import Caller


class StepUpMethods:
    """Finds the methods by which callers of refused requests can meet the demand."""

    def __init__(
        self,
        factors: SecondFactors | None = None,
        closed_to: Callable[[int], Awaitable[bool]] | None = None,
    ) -> None:
        """``factors`` knows the second factors of users; without it users have none.

        ``closed_to`` returns True for users with disabled passwords: they sign in with a provider, and step
        up there.
        """
        self._factors = factors
        self._closed_to = closed_to

    async def satisfying(self, caller: Caller, challenge: Challenge) -> tuple[str, ...]:
        """Return those of the caller's methods that meet ``challenge``; none: the caller has to enrol first.

        A user with a second factor steps up with one, and not by the password; in a session that rests on a
        passkey, by a passkey while there is one. A session with an initial
        password gets no further before that is changed. Raises ``Unavailable``.
        """
        if caller.authentication is None or caller.authentication.initial:
            return ()
        factors = self._factors
        if factors is not None and await factors.has_factor(caller.user_id):
            methods = await factors.methods(caller.user_id, caller.authentication.acr)
            return tuple(method for method in methods if ACR[method] in challenge.acr_values)
        if "pwd" not in challenge.acr_values:
            return ()
        return () if self._closed_to is not None and await self._closed_to(caller.user_id) else ("password",)
