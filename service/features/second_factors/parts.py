"""The parts of a worker that check second factors, for logins, links and refusals."""

from typing import Any

from service.authn.proving import ProviderOrigin
from service.authn.second_factors import Answer, Method
from service.errors import LoginFailed, SecondFactorRequired
from service.features.second_factors.challenges import LIFE, Challenge, Challenges
from service.features.second_factors.checking import FactorCheck
from service.features.second_factors.passkeys import RelyingParty, challenge_of
from service.features.second_factors.sealing import FactorKeys
from service.features.second_factors.second_step import SecondStep
from service.kernel.assurance import Acr
from service.kernel.notify import Notices
from service.keyspace import SessionStore
from service.records.accounts import Credentials
from service.records.database.transactions import Database
from service.settings import Settings


class CheckedFactors:
    """See ``SecondFactors``; ``party`` is None if the service has no address for passkeys."""

    def __init__(self, settings: Settings, database: Database, store: SessionStore, notices: Notices) -> None:
        self.now = store.synchronized.now
        self.keys = FactorKeys.of(settings.auth)
        self.party = RelyingParty.of(settings.server.public_url)
        self.challenges = Challenges(store)
        self.check = FactorCheck(database, self.keys, self.party, self.now, notices)
        self.step = SecondStep(database, self.challenges, self.check, self.party)

    @property
    def passkeys(self) -> bool:
        """See ``SecondFactors``."""
        return self.party is not None

    async def has_factor(self, user_id: int) -> bool:
        """See ``SecondFactors``."""
        return await self.check.has_factor(user_id)

    async def methods(self, user_id: int, least: Acr = "pwd") -> list[Method]:
        """See ``SecondFactors``."""
        return await self.check.methods(user_id, least)

    async def required(self, known: Credentials, device: str, origin: ProviderOrigin) -> SecondFactorRequired:
        """See ``SecondFactors``."""
        return await self.step.required(known, device, origin)

    async def reset_options(self, user_id: int) -> dict[str, Any]:
        """See ``SecondFactors``."""
        methods = await self.check.methods(user_id)
        public_key = None
        if "passkey" in methods:
            issued = await self.challenges.issue(Challenge("password-reset", user_id))
            public_key = await self.check.options(issued, user_id)
        return {"methods": methods, "expires_in": LIFE, "public_key": public_key}

    async def prove_reset(self, user_id: int, answer: Answer) -> None:
        """See ``SecondFactors``."""
        issued = None
        if answer.method == "passkey":
            issued = challenge_of(answer.credential)
            challenge = await self.challenges.answered(issued, "password-reset", user_id)
            if issued is None or challenge is None:
                raise LoginFailed
        await self.check.check(user_id, answer, issued)
        if issued is not None and not await self.challenges.spend(issued):
            raise LoginFailed


def facts(settings: Settings) -> dict[str, str]:
    """Return facts for the console page: the origin whose pages may ask for passkeys."""
    party = RelyingParty.of(settings.server.public_url)
    return {"passkeys": party.origin} if party else {}
