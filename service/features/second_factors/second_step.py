"""The second step of a login, and the login by passkey alone: from a challenge to a proof."""

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from service.authn.proving import ProviderOrigin, still_opens
from service.authn.second_factors import ACR, Answer, amr_of
from service.errors import LoginFailed, SecondFactorRequired
from service.features.second_factors import store
from service.features.second_factors.challenges import LIFE, Challenge, Challenges, bytes_of, text_of
from service.features.second_factors.checking import FactorCheck
from service.features.second_factors.passkeys import RelyingParty, party_of
from service.kernel.assurance import Acr
from service.records import accounts
from service.records.accounts import Credentials
from service.records.database.transactions import Database


class FactorProof:
    """A correct answer, in addition to the password or the sign-in of the first step, or alone."""

    auth_time: float | None = None

    def __init__(self, database: Database, known: Challenge, answer: Answer, factor_id: int) -> None:
        """``factor_id`` is the proved factor."""
        self._database = database
        self._known = known
        self._factor_id = factor_id
        self.acr: Acr = ACR[answer.method]
        self.origin = known.origin
        first = known.origin.amr
        amr = amr_of(answer.method, password=bool(known.proved) and not known.origin.sign_in)
        self.amr: tuple[str, ...] = tuple(dict.fromkeys((*first, *amr)))

    @property
    def user_name(self) -> str:
        """See ``Proof``."""
        return self._known.user_name

    async def compare(self, stored: Credentials | None) -> None:
        """See ``Proof``: user, password and factor are unchanged.

        The provider sign-in, if any, has not ended.
        """
        if stored is None or stored.user_id != self._known.user_id:
            raise LoginFailed
        if self._known.proved and self._known.proved != digest_of(stored):
            raise LoginFailed
        if not await store.is_there(self._database, stored.user_id, self._factor_id):
            raise LoginFailed
        if not await still_opens(self._database, stored.user_id, self.origin):
            raise LoginFailed

    async def renew(self, stored: Credentials) -> None:
        """See ``Proof``: there is nothing to renew."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SecondStep:
    """Requests second factors, and verifies the answers.

    Any fault is ``LoginFailed``: that of the challenge, its age, its user or the factor.
    """

    database: Database
    challenges: Challenges
    check: FactorCheck
    party: RelyingParty | None

    async def required(self, known: Credentials, device: str, origin: ProviderOrigin) -> SecondFactorRequired:
        """Return the refusal of a login after a correct first step, with a challenge; raises ``Unavailable``.

        ``origin`` belongs to a provider sign-in.
        """
        challenge = Challenge(
            "login", known.user_id, known.user_name, device, digest_of(known), origin=origin
        )
        issued = await self.challenges.issue(challenge)
        members: dict[str, Any] = {"challenge": text_of(issued), "expiresIn": LIFE}
        members["methods"] = await self.check.methods(known.user_id)
        if (options := await self.check.options(issued, known.user_id)) is not None:
            members["publicKey"] = options
        return SecondFactorRequired(None, **members)

    async def options(self, challenge: str) -> dict[str, Any]:
        """Return the possible answers to the challenge of a first step; the call counts as an answer."""
        known, issued = await self.begun(challenge), bytes_of(challenge)
        assert issued is not None  # noqa: S101 - it is that of a challenge
        return {
            "methods": await self.check.methods(known.user_id),
            "public_key": await self.check.options(issued, known.user_id),
        }

    async def begun(self, challenge: str) -> Challenge:
        """Count an answer to the challenge of a first step, and return the challenge."""
        known = await self.challenges.answered(bytes_of(challenge), "login")
        if known is None:
            raise LoginFailed
        return known

    async def proof(self, challenge: str, known: Challenge, answer: Answer) -> FactorProof:
        """Return the proof of a correct answer; it ends the challenge."""
        issued = bytes_of(challenge)
        factor_id = await self.check.check(known.user_id, answer, issued)
        return await self._spent(issued, known, answer, factor_id)

    async def passkey_options(self) -> dict[str, Any]:
        """Return the options for a login by passkey alone; ``Conflict`` if passkeys are unavailable."""
        party = party_of(self.party)
        return party.request_options(await self.challenges.issue(Challenge("passkey-login")))

    async def passkey_proof(self, challenge: str, credential: Mapping[str, Any]) -> FactorProof:
        """Return the proof of a correct answer to ``passkey_options``; it ends the challenge."""
        issued = bytes_of(challenge)
        if await self.challenges.answered(issued, "passkey-login") is None:
            raise LoginFailed
        passkey = await self.check.passkey(credential, issued)
        stored = await accounts.credentials_of(self.database, passkey.user_id) if passkey else None
        if passkey is None or stored is None:
            raise LoginFailed
        known = Challenge("passkey-login", stored.user_id, stored.user_name)
        return await self._spent(issued, known, Answer("passkey", credential=credential), passkey.id)

    async def _spent(
        self, issued: bytes | None, known: Challenge, answer: Answer, factor_id: int
    ) -> FactorProof:
        if issued is None or not await self.challenges.spend(issued):
            raise LoginFailed
        return FactorProof(self.database, known, answer, factor_id)


def digest_of(known: Credentials) -> str:
    """Return a digest of the password hash, for challenges; it changes with the password."""
    return sha256((known.password_hash or "").encode()).hexdigest()
