"""Opening device sessions: from a proof of who logs in to tokens with the rights of that moment."""

import asyncio
import secrets
from dataclasses import dataclass, replace
from typing import Final, Self, TypeVar

from msgspec import UNSET

from service.authn.denials import Denials, banned, banned_by
from service.authn.login_log import MAX_USER_AGENT
from service.authn.proving import Proof
from service.authn.second_factors import SecondFactors
from service.authn.token_issuer import Account, TokenIssuer, TokenPair
from service.errors import AccountDisabled, LoginFailed, Refusal, Unavailable, ValidationFailed
from service.kernel.assurance import Authentication
from service.kernel.core_sentences import sentence
from service.kernel.device import device_from, is_device
from service.kernel.user_agents import describe
from service.keyspace import SessionFacts, SessionStore
from service.records import accounts
from service.records.accounts import Credentials, Standing
from service.records.database.transactions import Database

C = TypeVar("C", bound=Credentials)
S = TypeVar("S", bound=Standing)

ATTEMPTS: Final = 5
PAUSE: Final = 0.005  # seconds until the user is read again


def new_rid() -> str:
    """Return a new refresh id: 24 characters, 144 bits."""
    return secrets.token_urlsafe(18)


@dataclass(frozen=True, slots=True)
class Origin:
    """Origin of a new session: its device type, the client's address, and its ``User-Agent``."""

    device: str
    address: str
    user_agent: str

    @classmethod
    def of(cls, device: str | None, address: str, user_agent: str) -> Self:
        """Return an origin; without ``device`` it follows from the User-Agent. ``ValidationFailed``."""
        device = device_from(user_agent) if device is None else device
        if not is_device(device):
            raise ValidationFailed(("device", sentence("not_a_device", pattern="[a-z0-9][a-z0-9_-]{0,31}")))
        return cls(device, address, user_agent)


class SessionOpening:
    """Opens device sessions for users who have proved their identity, by any proof.

    A user with a second factor gets no session by a password alone.
    """

    def __init__(
        self, database: Database, store: SessionStore, pairs: TokenIssuer, second_factors: SecondFactors
    ) -> None:
        self._database = database
        self._store = store
        self._pairs = pairs
        self._second_factors = second_factors
        self._denials = Denials(database, store)

    async def open(self, proof: Proof, origin: Origin) -> TokenPair:
        """Return the tokens of a new device session.

        Raises ``LoginFailed`` (unknown user or wrong proof: same answer, same time), ``AccountDisabled``,
        ``AccountBanned`` and ``InitialPasswordExpired`` (with the right proof), ``SecondFactorRequired`` and
        ``Unavailable``.
        """
        for _ in range(ATTEMPTS):
            known = await accounts.credentials(self._database, proof.user_name)
            first = await self._proved(proof, known)
            await proof.renew(first)
            await self._require_second(proof, first, origin)
            # Read before the user is read as it counts: another marker makes this login stale.
            seen = await self._store.marker_of(str(first.user_id))
            entrant = await self._pairs.entrant(first.user_id, proof.user_name)
            entrant = await self._proved(proof, entrant)
            await self._require_second(proof, entrant, origin)
            pair = await self._open(self._pairs.account(entrant), origin, proof, seen=seen)
            if pair is not None:
                await self._require_sign_in(proof, entrant, origin.device)
                return pair
            await asyncio.sleep(PAUSE)
        raise Unavailable(sentence("user_being_changed"))

    async def take_back(self, pair: TokenPair) -> None:
        """End the session of tokens that were not handed out, not its successor. Raises ``Unavailable``."""
        opened_by = pair.issued / 1000
        await self._store.close_session(str(pair.user_id), pair.device, opened_by=opened_by)

    async def _proved(self, proof: Proof, stored: C | None) -> C:
        """Return the account as it was just read, if the proof holds for it; raises as ``open`` does."""
        await proof.compare(stored)
        return _allowed(stored)

    async def _require_second(self, proof: Proof, known: Credentials, origin: Origin) -> None:
        if known.second_factor and proof.acr == "pwd":
            raise await self._second_factors.required(known, origin.device, proof.origin)

    async def _require_sign_in(self, proof: Proof, known: Credentials, device: str) -> None:
        """End the session, whose tokens were not handed out, if its sign-in with a provider has ended.

        A sign-in that ends stores its end first, and then ends its session. So a session that opens earlier
        is ended by the sign-in, and a session that opens later is ended here.
        """
        if not proof.origin.sign_in:
            return
        try:
            await proof.compare(known)
        except Refusal:
            await self._store.close_session(str(known.user_id), device, sign_in=proof.origin.sign_in)
            raise

    async def _open(self, account: Account, origin: Origin, proof: Proof, *, seen: bytes) -> TokenPair | None:
        """Open the session; None if the user was marked since ``seen``, or the store had an outdated ban."""
        agent = origin.user_agent[:MAX_USER_AGENT]
        browser, system = describe(agent)
        facts = SessionFacts(
            account.user_name,
            account.nick_name,
            origin.address,
            agent,
            browser,
            system,
            proof.acr,
            proof.amr,
            UNSET if proof.auth_time is None else proof.auth_time,
            proof.origin.sign_in or UNSET,
            proof.origin.id_token or UNSET,
        )
        rid = self._store.refresh_id(str(account.user_id), new_rid())
        opened = await self._store.open_session(str(account.user_id), origin.device, rid, facts, seen=seen)
        if opened.outcome == "banned":
            # The database had no ban when it was read: there is one by now, or the store is outdated.
            await self._denials.settle(account.user_id)
            if (ban := await self._store.ban_of(str(account.user_id))) is not None:
                raise banned(ban.until)
            return None
        if opened.outcome == "stale":
            return None
        times = {"issued": opened.issued, "ends": opened.ends}
        issued = opened.issued / 1000
        when = issued if proof.auth_time is None else min(proof.auth_time, issued)
        proved = Authentication(proof.acr, proof.amr, when)
        device, sid = origin.device, opened.sid
        pair = await self._pairs.issue(account, device, rid, sid=sid, authentication=proved, **times)
        return replace(pair, ended=opened.ended)


def _allowed(stored: S | None) -> S:
    """Return an account that may log in; raises what ``SessionOpening.open`` does for one that may not."""
    if stored is None:  # deleted since the proof was compared
        raise LoginFailed
    if stored.status != "enabled":
        raise AccountDisabled
    if stored.banned:
        raise banned_by(stored)
    return stored
