"""Login with throttling and log: each attempt is counted first, and recorded with its outcome."""

from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final, TypeAlias

import structlog

from service import errors
from service.authn.login_log import LoginLog, reason_of
from service.authn.opening import Origin, SessionOpening
from service.authn.password_rules import InitialPasswords
from service.authn.passwords import Passwords
from service.authn.proving import ClosedPasswords, PasswordProof, Proof
from service.authn.second_factors import Begun
from service.authn.throttle import ACCOUNT, SECOND_FACTOR, Attempt, Throttle
from service.authn.token_issuer import TokenPair
from service.kernel.device import DERIVED, device_from
from service.kernel.notify import Notices
from service.records import accounts
from service.records.accounts import Credentials
from service.records.database.transactions import Database

SUCCESS: Final = "success"
_REFUSALS: Final = (
    errors.LoginFailed,
    errors.SignInFailed,
    errors.SecondFactorRequired,
    errors.AccountDisabled,
    errors.AccountBanned,
    errors.InitialPasswordExpired,
    errors.RateLimited,
    errors.ValidationFailed,
    errors.Unavailable,
    errors.InternalError,
)

Proving: TypeAlias = Callable[[], Awaitable[Proof]]
_OF_ACCOUNT: Final = (ACCOUNT, SECOND_FACTOR)

_log = structlog.get_logger(__name__)


def _no_logins() -> Counter[str]:
    return Counter(dict.fromkeys([SUCCESS, *(refusal.code for refusal in _REFUSALS)], 0))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LoginService:
    """Logs in as often as ``throttle`` allows, and records each attempt."""

    database: Database
    passwords: Passwords
    opening: SessionOpening
    throttle: Throttle
    log: LoginLog
    initial: InitialPasswords
    notices: Notices
    closed: ClosedPasswords | None = None
    outcomes: Counter[str] = field(init=False, default_factory=_no_logins)
    """The logins that were tried: those that succeeded, and the others by the code of the refusal."""

    async def login(
        self, user_name: str, password: str, device: str | None, address: str, user_agent: str
    ) -> TokenPair:
        """Return the tokens of a new device session; without ``device`` it follows from the User-Agent.

        Raises what ``SessionOpening.open`` does, ``ValidationFailed`` for a device, and ``RateLimited``.
        """
        kind = device_from(user_agent) if device is None else device
        try:
            attempt = await self.throttle.login(user_name, address, user_agent)
            proof = PasswordProof(
                self.database,
                self.passwords,
                self.initial,
                user_name,
                password,
                favoured=attempt.favoured,
                closed=self.closed,
            )
            pair = await self._open(proof, Origin.of(device, address, user_agent))
        except Exception as error:
            await self._failed(error, user_name, kind)
            raise
        return await self._succeeded(pair, attempt)

    async def second_step(
        self, begin: Callable[[], Awaitable[Begun]], address: str, user_agent: str, *, guessed: bool
    ) -> TokenPair:
        """Return the tokens of the session for which ``login`` has asked for a second factor.

        ``begin`` returns the pending second step. ``guessed``: its answer could be guessed. Raises the errors
        of ``SessionOpening.open``, and ``RateLimited``.
        """
        known = None
        try:
            await self.throttle.from_address(address)
            known = await begin()
            who = (known.user_name, address, user_agent)
            attempt = await self.throttle.second_factor(*who, guessed=guessed)
            proof = await known.prove()
            pair = await self._open(proof, Origin.of(known.device, address, user_agent))
        except Exception as error:
            await self._failed(error, known.user_name if known else None, known.device if known else None)
            raise
        return await self._succeeded(pair, attempt)

    async def by_proof(self, prove: Proving, device: str, address: str, user_agent: str) -> TokenPair:
        """Return the tokens of a new device session for a user who has proved more than a password.

        ``prove`` makes the proof, once the address was counted. Raises the errors of ``login`` and of
        ``prove``.
        """
        proof = None
        try:
            await self.throttle.from_address(address)
            proof = await prove()
            who = (proof.user_name, address, user_agent)
            attempt = await self.throttle.second_factor(*who, guessed=False)
            pair = await self._open(proof, Origin.of(device, address, user_agent))
        except Exception as error:
            await self._failed(error, proof.user_name if proof else None, device)
            raise
        return await self._succeeded(pair, attempt)

    async def may_sign_in(self, address: str) -> None:
        """Count the beginning of a login in several steps; raises ``RateLimited`` and ``Unavailable``."""
        await self.throttle.from_address(address)

    async def _open(self, proof: Proof, origin: Origin) -> TokenPair:
        """Return the tokens of a new session, once the user is notified of a login from a new device.

        If the notice fails, the session is ended again: its tokens were not handed out.
        """
        pair = await self.opening.open(proof, origin)
        try:
            await self.notices.of_login(self.database, pair.user_id, origin.address, origin.user_agent)
        except Exception:
            with suppress(errors.Unavailable):
                await self.opening.take_back(pair)
            raise
        return pair

    async def _succeeded(self, pair: TokenPair, attempt: Attempt) -> TokenPair:
        self.outcomes[SUCCESS] += 1
        self._enter_success(pair)
        try:
            await attempt.succeeded()
        except errors.Unavailable:  # the session is open: the attempts before count on, and nothing else
            _log.warning("a login could not reset the count of attempts", login_id=str(pair.user_id))
        return pair

    async def _failed(self, error: Exception, user_name: str | None, device: str | None) -> None:
        self.outcomes[reason_of(error)] += 1
        await self._enter_failure(error, user_name, device)

    def _enter_success(self, pair: TokenPair) -> None:
        user = (pair.user_id, pair.user_name)
        self.log.own("login", *user, pair.device)
        for device in pair.ended:
            reason = "replaced" if device == pair.device else "max_devices"
            self.log.own("evict", *user, device, reason=reason)

    async def _enter_failure(self, error: Exception, user_name: str | None, device: str | None) -> None:
        """Record the failure; with a name only if a user has it.

        An unknown name or device type may be a password typed into the wrong field.
        """
        locked = False
        if user_name is not None and isinstance(error, errors.RateLimited) and error.limit in _OF_ACCOUNT:
            with suppress(errors.Unavailable):  # before it is known whether a user has the name
                locked = await self.throttle.locks(error.limit, user_name)
        known = None if user_name is None else await self._known(error, user_name)
        user_id, name = (known.user_id, known.user_name) if known else (None, None)
        kind = device if device in DERIVED else None
        if isinstance(error, errors.SecondFactorRequired):  # who never takes the next step may have stolen it
            self.log.own("login_begun", user_id, name, kind)
            return
        self.log.own("login", user_id, name, kind, reason=reason_of(error), outcome="failure")
        if known and locked and isinstance(error, errors.RateLimited):
            self.log.own("lockout", user_id, name, kind, reason=error.code, outcome="failure")
            _log.warning("an account is locked out", event_type="security", login_id=str(user_id))
            if error.limit == SECOND_FACTOR:
                with suppress(errors.Unavailable):
                    async with self.database.transaction() as connection:
                        await self.notices.notify(connection, known.user_id, "second_factor_blocked")

    async def _known(self, error: Exception, user_name: str) -> Credentials | None:
        """Return the account that the attempt was for; None for an unknown one, or if reading costs too much.

        A throttled attempt must stay cheap, and an unavailable store is not asked twice.
        """
        by_address = isinstance(error, errors.RateLimited) and error.limit not in _OF_ACCOUNT
        if by_address or isinstance(error, errors.Unavailable) or not isinstance(error, errors.Refusal):
            return None
        with suppress(errors.Unavailable):
            return await accounts.credentials(self.database, user_name)
        return None
