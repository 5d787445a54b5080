"""Logins with a second factor, and by a passkey alone: from the client's input to tokens."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from service.authn.login_service import LoginService
from service.authn.opening import Origin
from service.authn.proving import Proof
from service.authn.second_factors import Answer, Begun
from service.authn.token_issuer import TokenPair
from service.features.second_factors.second_step import SecondStep
from service.kernel.device import device_from


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FactorLogins:
    """Completes logins that ``step`` verifies, within the limits of ``logins``."""

    logins: LoginService
    step: SecondStep

    async def second_step(self, challenge: str, answer: Answer, address: str, user_agent: str) -> TokenPair:
        """Return the tokens of a login that required a second factor.

        Raises what ``LoginService.second_step`` raises.
        """

        async def begin() -> Begun:
            known = await self.step.begun(challenge)

            async def prove() -> Proof:
                return await self.step.proof(challenge, known, answer)

            return Begun(known.user_name, known.device, prove)

        return await self.logins.second_step(begin, address, user_agent, guessed=answer.method == "totp")

    async def options(self, challenge: str, address: str) -> dict[str, Any]:
        """Return ``methods`` and ``public_key`` for the challenge of a first step, as its answer had them.

        Raises ``LoginFailed`` for an invalid challenge, ``RateLimited`` and ``Unavailable``.
        """
        await self.logins.may_sign_in(address)
        return await self.step.options(challenge)

    async def by_passkey(
        self,
        challenge: str,
        credential: Mapping[str, Any],
        device: str | None,
        address: str,
        user_agent: str,
    ) -> TokenPair:
        """Return the tokens of a new device session for the user whose passkey answers ``challenge``.

        Raises what ``LoginService.by_proof`` raises.
        """

        async def prove() -> Proof:
            Origin.of(device, address, user_agent)  # refused before the challenge is spent
            return await self.step.passkey_proof(challenge, credential)

        kind = device_from(user_agent) if device is None else device
        return await self.logins.by_proof(prove, kind, address, user_agent)

    async def passkey_options(self, address: str) -> dict[str, Any]:
        """Return the options for ``by_passkey``; raises ``RateLimited``, ``Conflict`` and ``Unavailable``."""
        await self.logins.may_sign_in(address)
        return await self.step.passkey_options()
