"""Login with throttling and log: each attempt is counted first, and recorded with its outcome."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from typing import Final

import structlog

from service.authn.login_log import LoginLog, reason_of
from service.authn.opening import Origin, SessionOpening
from service.authn.passwords import Passwords
from service.authn.proving import PasswordProof
from service.authn.throttle import ACCOUNT, Throttle
from service.authn.token_issuer import TokenPair
from service.errors import (
    AccountBanned,
    AccountDisabled,
    InternalError,
    LoginFailed,
    RateLimited,
    Refusal,
    Unavailable,
    ValidationFailed,
)
from service.kernel.device import DERIVED, device_from
from service.records import accounts
from service.records.accounts import Credentials
from service.records.database.transactions import Database

SUCCESS: Final = "success"
_REFUSALS: Final = (
    LoginFailed,
    AccountDisabled,
    AccountBanned,
    RateLimited,
    ValidationFailed,
    Unavailable,
    InternalError,
)

_log = structlog.get_logger(__name__)


class LoginService:
    """Logs in as often as ``throttle`` allows, and records each attempt."""

    def __init__(
        self,
        database: Database,
        passwords: Passwords,
        opening: SessionOpening,
        throttle: Throttle,
        log: LoginLog,
    ) -> None:
        self._database = database
        self._passwords = passwords
        self._opening = opening
        self._throttle = throttle
        self._entries = log
        self.outcomes = Counter(dict.fromkeys([SUCCESS, *(refusal.code for refusal in _REFUSALS)], 0))
        """The logins that were tried: those that succeeded, and the others by the code of the refusal."""

    async def login(
        self, user_name: str, password: str, device: str | None, address: str, user_agent: str
    ) -> TokenPair:
        """Return the tokens of a new device session; without ``device`` it follows from the User-Agent.

        Raises what ``SessionOpening.open`` does, ``ValidationFailed`` for a device, and ``RateLimited``.
        """
        try:
            attempt = await self._throttle.login(user_name, address, user_agent)
            proof = PasswordProof(
                self._database, self._passwords, user_name, password, favoured=attempt.favoured
            )
            pair = await self._opening.open(proof, Origin.of(device, address, user_agent))
        except Exception as error:
            self.outcomes[reason_of(error)] += 1
            await self._enter_failure(error, user_name, device_from(user_agent) if device is None else device)
            raise
        self.outcomes[SUCCESS] += 1
        self._enter_success(pair)
        await attempt.succeeded()
        return pair

    def _enter_success(self, pair: TokenPair) -> None:
        user = (pair.user_id, pair.user_name)
        self._entries.own("login", *user, pair.device)
        for device in pair.ended:
            reason = "replaced" if device == pair.device else "max_devices"
            self._entries.own("evict", *user, device, reason=reason)

    async def _enter_failure(self, error: Exception, user_name: str, device: str) -> None:
        """Record the failure; with a name only if a user has it.

        An unknown name may be a password typed into the wrong field, and so may an unknown device type.
        """
        known = await self._known(error, user_name)
        user_id, name = (known.user_id, known.user_name) if known else (None, None)
        kind = device if device in DERIVED else None
        self._entries.own("login", user_id, name, kind, reason=reason_of(error), outcome="failure")
        if known and isinstance(error, RateLimited) and error.limit == ACCOUNT:
            with suppress(Unavailable):
                if await self._throttle.locks(user_name):
                    self._entries.own("lockout", user_id, name, kind, reason=error.code, outcome="failure")
                    _log.warning("an account is locked out", event_type="security", login_id=str(user_id))

    async def _known(self, error: Exception, user_name: str) -> Credentials | None:
        """Return the account that the attempt was for; None if there is none, or if reading costs too much.

        A throttled attempt must stay cheap, and an unavailable store is not asked twice.
        """
        by_address = isinstance(error, RateLimited) and error.limit != ACCOUNT
        if by_address or isinstance(error, Unavailable) or not isinstance(error, Refusal):
            return None
        with suppress(Unavailable):
            return await accounts.credentials(self._database, user_name)
        return None
