"""Step-up: a logged-in user authenticates again, or more strongly."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from service.authn.login_log import LoginLog, reason_of
from service.authn.passwords import Passwords
from service.authn.proving import ClosedPasswords
from service.authn.refresh import Refresh
from service.authn.second_factors import ACR, Answer, amr_of, is_weaker
from service.authn.throttle import Throttle
from service.authn.token_issuer import TokenPair
from service.errors import Conflict, LoginFailed, RefreshRequired, SecondFactorRequired
from service.features.second_factors.challenges import LIFE, Challenge, Challenges
from service.features.second_factors.checking import FactorCheck
from service.features.second_factors.passkeys import challenge_of
from service.features.second_factors.sentences import sentence
from service.kernel.assurance import Acr
from service.kernel.identity import Caller
from service.records import accounts
from service.records.accounts import Credentials
from service.records.database.transactions import Database


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class StepUp:
    """Renews the tokens of a session with a new proof; users with a second factor must prove that factor.

    A proof is not weaker than the session's current one, unless the user no longer has one as strong.
    Otherwise the session would satisfy fewer words of the policy.

    All raise ``Conflict`` for an API key, ``RefreshRequired`` for a deleted user, and ``Unavailable``.
    """

    database: Database
    passwords: Passwords
    challenges: Challenges
    check: FactorCheck
    throttle: Throttle
    refresh: Refresh
    log: LoginLog
    closed: ClosedPasswords

    async def options(self, caller: Caller) -> dict[str, Any]:
        """Return ``methods``, ``expires_in``, and ``public_key``: passkey options, None without passkeys."""
        stored = await self._known(caller)
        if not stored.second_factor:
            closed = await self.closed.includes(self.database, caller.user_id)
            return {"methods": [] if closed else ["password"], "expires_in": LIFE, "public_key": None}
        methods = await self.check.methods(caller.user_id, caller.rests_on)
        public_key = None
        if "passkey" in methods:
            challenge = Challenge("step-up", caller.user_id, caller.user_name, caller.device)
            public_key = await self.check.options(await self.challenges.issue(challenge), caller.user_id)
        return {"methods": methods, "expires_in": LIFE, "public_key": public_key}

    async def by_password(self, caller: Caller, password: str, address: str, user_agent: str) -> TokenPair:
        """Return the new tokens of a session by the password of a user without a second factor.

        The password of a user who must sign in with a provider proves nothing. Raises
        ``SecondFactorRequired`` for a user with a factor, ``LoginFailed``, ``RateLimited``, and what
        ``Refresh.stepped_up`` raises.
        """

        async def prove() -> None:
            stored = await self._known(caller)
            if stored.second_factor:
                methods = await self.check.methods(caller.user_id, caller.rests_on)
                raise SecondFactorRequired(sentence("prove_factor"), methods=methods)
            who = (caller.user_name, address, user_agent)
            attempt = await self.throttle.login(*who, session=caller.device)
            right = await self.passwords.verify(stored.password_hash, password, favoured=attempt.favoured)
            if not right or await self.closed.includes(self.database, caller.user_id):
                raise LoginFailed
            await attempt.succeeded()

        return await self._stepped_up(caller, prove, "pwd", ("pwd",))

    async def by_factor(self, caller: Caller, answer: Answer, address: str, user_agent: str) -> TokenPair:
        """Return the new tokens of a session by a second factor; raises as ``by_password`` does."""

        async def prove() -> None:
            await self._known(caller)
            methods = await self.check.methods(caller.user_id, caller.rests_on)
            if is_weaker(answer.method, caller.rests_on) and answer.method not in methods:
                raise SecondFactorRequired(sentence("stronger_session"), methods=methods)
            await self.throttle.from_address(address)
            who = (caller.user_name, address, user_agent)
            guessed = answer.method == "totp"
            attempt = await self.throttle.second_factor(*who, guessed=guessed, session=caller.device)
            issued = None
            if answer.method == "passkey":
                issued = challenge_of(answer.credential)
                challenge = await self.challenges.answered(issued, "step-up", caller.user_id)
                if issued is None or challenge is None or challenge.device != caller.device:
                    raise LoginFailed
            await self.check.check(caller.user_id, answer, issued)
            if issued is not None and not await self.challenges.spend(issued):
                raise LoginFailed
            await attempt.succeeded()

        first = caller.authentication.amr if caller.authentication else ()
        amr = amr_of(answer.method, password="pwd" in first)
        return await self._stepped_up(caller, prove, ACR[answer.method], amr)

    async def _stepped_up(
        self, caller: Caller, prove: Callable[[], Awaitable[None]], acr: Acr, amr: tuple[str, ...]
    ) -> TokenPair:
        user = (caller.user_id, caller.user_name, caller.device)
        try:
            await prove()
            pair = await self.refresh.stepped_up(caller, acr, amr)
        except Exception as error:
            self.log.own("step_up", *user, reason=reason_of(error), outcome="failure")
            raise
        self.log.own("step_up", *user)
        return pair

    async def _known(self, caller: Caller) -> Credentials:
        if caller.key_id is not None:
            raise Conflict(sentence("session_of_key"), rule="kind_of_account")
        stored = await accounts.credentials_of(self.database, caller.user_id)
        if stored is None:  # deleted while the token was valid
            raise RefreshRequired
        return stored
