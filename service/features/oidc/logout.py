"""Logout at a provider: the provider's logout requests, and the URL for a logout there."""

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from service.authn.login_log import LoginLog
from service.errors import NotFound, Unavailable
from service.features.directories import store_sign_ins as sign_ins
from service.features.directories.sessions import end_sessions_of
from service.features.oidc.accounts import refused
from service.features.oidc.provider import Provider
from service.features.oidc.sentences import sentence
from service.features.oidc.signatures import Untrusted
from service.kernel.identity import Caller
from service.keyspace import SessionStore
from service.records.database.transactions import Database

_JTI_LIFE: Final = 1800


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ProviderLogout:
    """Ends sessions at the request of ``providers``, and returns their logout URLs."""

    providers: Mapping[str, Provider]
    database: Database
    store: SessionStore
    log: LoginLog

    async def log_out_at(self, name: str, token: str) -> int:
        """End the sessions that a logout token of the provider names; return their number.

        Raises ``NotFound``, ``Unavailable``, and ``SignInFailed`` for an untrusted or repeated token.
        """
        if (provider := self.providers.get(name)) is None:
            raise NotFound(sentence("no_such_provider"))
        try:
            order = await provider.logout_order(token)
        except Untrusted as error:
            raise refused(name, str(error)) from None
        spent = (1, _JTI_LIFE, "logout-token", sha256(f"{name} {order.jti}".encode()).hexdigest())
        if await self.store.counters.wait(*spent) is not None:
            raise refused(name, "a logout token that was sent before")
        async with self.database.transaction() as connection:
            meant = await sign_ins.end(
                connection, name, issuer=provider.settings.issuer, subject=order.subject, sid=order.sid
            )
        ended = await end_sessions_of(self.store, self.log, meant)
        # Counted only now: a request answered with 503 is retried, and ending a session twice is harmless.
        await self.store.counters.hit(*spent)
        return ended

    async def end_session_url(self, caller: Caller, back: str) -> str | None:
        """Return the logout URL of the provider that opened the session; None for no provider.

        Also None while the provider does not answer: the local logout must not depend on the provider.
        """
        session = (await self.store.sessions(caller.login_id)).get(caller.device)
        if session is None or not session.sign_in:
            return None
        async with self.database.snapshot() as connection:
            signed_in = await sign_ins.named(connection, caller.user_id, session.sign_in)
        provider = None if signed_in is None else self.providers.get(signed_in.source)
        if provider is None:
            return None
        hint = await self.store.id_token_of(caller.login_id, caller.device)
        try:
            return await provider.end_session_url(back, hint)
        except Unavailable:
            return None
