"""Checks second factors; each code and each passkey answer counts once, even in a race."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import structlog

from service.authn.second_factors import Answer, Method, is_weaker
from service.errors import LoginFailed, Unavailable
from service.features.second_factors import recovery_codes, store, totp
from service.features.second_factors.passkeys import PasskeyRefusedError, RelyingParty, id_of
from service.features.second_factors.sealing import FactorKeys
from service.features.second_factors.sentences import sentence
from service.features.second_factors.store import Passkey
from service.kernel.assurance import Acr
from service.kernel.notify import Notices
from service.records.database.transactions import Database
from service.records.factors import FactorKind

_OFFERED: Final[Mapping[FactorKind, Method]] = {
    "passkey": "passkey",
    "totp": "totp",
    "recovery_codes": "recovery_code",
}

_log = structlog.get_logger(__name__)


def about(user_id: int) -> str:
    """Return the context to which the sealed secrets of a user are bound."""
    return f"user {user_id}"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FactorCheck:
    """Checks answers against the factors of a user; raises ``LoginFailed`` for any wrong answer.

    The refusal says whether an app code was used before: the caller has passed the first step, and such a
    code opens nothing.

    ``now`` is the session store's time in seconds since the epoch, shared by all nodes. All raise
    ``Unavailable``, also for an unmatched app code while the secret of an app is unreadable.
    """

    database: Database
    keys: FactorKeys
    party: RelyingParty | None
    now: Callable[[], float]
    notices: Notices

    async def has_factor(self, user_id: int) -> bool:
        """Return whether a user has a second factor; recovery codes alone are none."""
        return not await store.kinds(self.database, user_id) <= {"recovery_codes"}

    async def methods(self, user_id: int, least: Acr = "pwd") -> list[Method]:
        """Return the methods that a user can answer with now, the strongest first.

        Recovery codes are included while any are left. Methods weaker than ``least`` are left out, unless the
        user has no stronger ones.
        """
        kinds = await store.kinds(self.database, user_id)
        usable = kinds if self.party else kinds - {"passkey"}
        methods = [method for kind, method in _OFFERED.items() if kind in usable]
        return [method for method in methods if not is_weaker(method, least)] or methods

    async def options(self, issued: bytes, user_id: int) -> dict[str, Any] | None:
        """Return the options for an assertion by one of a user's passkeys; None without passkeys."""
        if self.party is None:
            return None
        async with self.database.transaction() as connection:
            known = await store.passkeys(connection, user_id)
        return self.party.request_options(issued, known) if known else None

    async def check(self, user_id: int, answer: Answer, issued: bytes | None) -> int:
        """Return the id of the factor that ``answer`` proves; it counts once. ``issued`` is for a passkey."""
        match answer.method:
            case "totp":
                factor_id = await self._of_code(user_id, answer.code)
            case "recovery_code":
                factor_id = await self._of_recovery_code(user_id, answer.code)
            case "passkey":
                passkey = await self.passkey(answer.credential, issued, user_id)
                factor_id = passkey.id if passkey else None
        if factor_id is None:
            raise LoginFailed
        return factor_id

    async def passkey(
        self, credential: Mapping[str, Any], issued: bytes | None, user_id: int | None = None
    ) -> Passkey | None:
        """Return the passkey that answered the challenge ``issued``; None for a wrong answer.

        Without ``user_id`` the user is unknown, and the answer must name the user.
        """
        credential_id = id_of(credential)
        if self.party is None or issued is None or credential_id is None:
            return None
        async with self.database.transaction() as connection:
            passkey = await store.passkey(connection, credential_id)
        if passkey is None or user_id not in (None, passkey.user_id):
            return None
        try:
            count = self.party.asserted(credential, issued, passkey, discovered=user_id is None)
        except PasskeyRefusedError as refused:
            _tell("the answer of a passkey is wrong", passkey, why=str(refused))
            return None
        async with self.database.transaction() as connection:
            forward = await store.use_passkey(connection, passkey, count)
        if not forward:
            _tell("the counter of a passkey went back: it may have been copied", passkey)
        return passkey if forward else None

    async def _of_code(self, user_id: int, code: str) -> int | None:
        now, unreadable = self.now(), None
        is_used = False
        for app in await store.apps(self.database, user_id):
            try:
                secret = self.keys.open(app.sealed_secret, about(user_id))
            except Unavailable as refusal:  # the code may belong to another app
                unreadable = refusal
                continue
            step = totp.step_of(secret, code, now)
            if step is None:
                continue
            async with self.database.transaction() as connection:
                if await store.use_app(connection, app, step):
                    return app.id
            is_used = True
        if is_used:
            raise LoginFailed(sentence("app_code_used"))
        if unreadable is not None:
            raise unreadable
        return None

    async def _of_recovery_code(self, user_id: int, code: str) -> int | None:
        digest = recovery_codes.digest_of(code)
        if digest is None:
            return None
        async with self.database.transaction() as connection:
            used = await store.use_recovery_code(connection, user_id, digest)
            if used is not None:
                await self.notices.notify(connection, user_id, "recovery_code_used")
        return used


def _tell(event: str, passkey: Passkey, **facts: str) -> None:
    facts = {"login_id": str(passkey.user_id), "factor": str(passkey.id), **facts}
    _log.warning(event, event_type="security", **facts)
