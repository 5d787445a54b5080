"""Sign-in with a provider of OpenID Connect: from the first redirect to the proof that opens a session.

State is kept in the session store under a single-use secret that only the browser has: first ``state``, then
the code for a front end.
"""

import hmac
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Final
from urllib.parse import urlencode, urlsplit

from msgspec import Struct, json

from service.administration.delegation import Delegation
from service.authn.login_service import LoginService
from service.authn.proving import ProviderOrigin, still_opens
from service.authn.sessions import live_session
from service.authn.token_issuer import TokenPair
from service.errors import (
    Conflict,
    NotFound,
    SecondFactorRequired,
    SignInFailed,
    ValidationFailed,
)
from service.features.oidc.accounts import Begun, ProviderAccounts, Purpose, name_of, refused
from service.features.oidc.provider import Identity, Provider, s256
from service.features.oidc.sentences import sentence
from service.features.oidc.signatures import Untrusted
from service.kernel.account_acts import Act
from service.kernel.assurance import Acr
from service.kernel.identity import Caller, oneself
from service.keyspace import SessionStore
from service.records import factors
from service.records.accounts import Credentials
from service.records.database.transactions import Database
from service.settings import Oidc

BEGUN_LIFE: Final = 600
"""Seconds for the sign-in at the provider."""
CODE_LIFE: Final = 60
"""Seconds for a front end to redeem its code."""
_LINK_AGE: Final = 300
"""The maximum age in seconds of the provider login when an account is linked."""
_LONGEST_HINT: Final = 4096
"""The maximum length of an ID token sent back for a logout: it becomes part of a URL."""
_VERIFIER: Final = re.compile(r"[A-Za-z0-9._~-]{43,128}")
_CHALLENGE: Final = re.compile(r"[A-Za-z0-9_-]{43}")
_OWN_PATH: Final = re.compile(r"/(?![/\\])[\x21-\x5b\x5d-\x7e]*")
_FOREIGN: Final = re.compile(r"(https?://[A-Za-z0-9.:\[\]_-]+)((?:[/?#][\x21-\x5b\x5d-\x7e]*)?)")
_LONGEST_NEXT: Final = 1500
_CONSOLE: Final = "/console"


class _Confirmed(Struct, frozen=True):
    begun: Begun
    identity: Identity


_begun = json.Decoder(Begun)
_confirmed = json.Decoder(_Confirmed)


@dataclass(frozen=True, slots=True)
class Beginning:
    """The URL for a sign-in, and the secret of its cookie; "" without a cookie."""

    url: str
    binding: str


@dataclass(frozen=True, slots=True)
class Returned:
    """The URL after the provider's redirect; ``pair`` are the tokens of a session in cookies."""

    next: str
    pair: TokenPair | None = None


class ProviderProof:
    """The proof that the user signed in with a provider linked to the account."""

    def __init__(self, database: Database, stored: Credentials, identity: Identity, sign_in: str) -> None:
        """``sign_in`` is the name of the sign-in; the session stores it."""
        self._database = database
        self._user_id = stored.user_id
        self.user_name = stored.user_name
        self.acr: Acr = identity.acr
        self.amr: tuple[str, ...] = identity.amr
        # Long ago if the provider sends no time: that satisfies no maximum age.
        self.auth_time: float | None = identity.auth_time or 1.0
        hint = identity.id_token if len(identity.id_token) <= _LONGEST_HINT else ""
        self.origin = ProviderOrigin(sign_in, identity.amr, hint)

    async def compare(self, stored: Credentials | None) -> None:
        """See ``Proof``: the user is the same, and the sign-in has not ended."""
        if stored is None or stored.user_id != self._user_id:
            raise SignInFailed
        if not await still_opens(self._database, stored.user_id, self.origin):
            raise SignInFailed

    async def renew(self, stored: Credentials) -> None:
        """See ``Proof``: there is nothing to renew."""


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class ProviderSignIn:
    """Sign-in with the ``providers`` of the settings; an unknown provider raises ``NotFound``."""

    settings: Oidc
    providers: Mapping[str, Provider]
    database: Database
    store: SessionStore
    logins: LoginService
    delegation: Delegation
    accounts: ProviderAccounts
    console: bool
    """True if the console is served."""

    def names(self) -> list[tuple[str, str]]:
        """Return the names and titles of the providers, in their order."""
        return [(name, each.settings.title or name) for name, each in self.providers.items()]

    async def begin(
        self,
        name: str,
        next_: str,
        device: str,
        address: str,
        *,
        challenge: str | None,
        in_cookies: bool,
        caller: Caller | None = None,
        purpose: Purpose = "sign-in",
        acr: Acr | None = None,
        max_age: int | None = None,
    ) -> Beginning:
        """Return the sign-in URL of the provider ``name``.

        ``next_`` is the URL after the sign-in. A front end sends the S256 ``challenge`` of a verifier that it
        keeps; with ``in_cookies`` a cookie binds the browser instead. ``caller`` links an account or steps
        up. Raises ``NotFound``, ``ValidationFailed``, ``RateLimited`` and ``Unavailable``. With a caller also
        raises ``Conflict`` for an API key, ``RefreshRequired`` without a session, and for a link the errors
        of enrolling a second factor.
        """
        provider = self._provider(name)
        session = "" if caller is None else await self._require(caller, purpose)
        faults = []
        if not self._may_lead_to(next_):
            faults.append(("next", sentence("next_not_allowed")))
        if in_cookies != (challenge is None):
            why = sentence("not_in_cookie_mode") if in_cookies else sentence("not_a_challenge")
            faults.append(("challenge", why))
        elif challenge is not None and not _CHALLENGE.fullmatch(challenge):
            faults.append(("challenge", sentence("not_a_challenge")))
        if faults:
            raise ValidationFailed(*faults)
        await self.logins.may_sign_in(address)
        state, binding = secrets.token_urlsafe(32), secrets.token_urlsafe(32) if in_cookies else ""
        begun = Begun(
            name,
            secrets.token_urlsafe(32),
            secrets.token_urlsafe(48),
            next_,
            device,
            challenge or "",
            _digest(binding) if binding else "",
            purpose,
            0 if caller is None else caller.user_id,
            _LINK_AGE if purpose == "link" else max_age,
            session,
        )
        url = await provider.authorization_url(
            state=state, nonce=begun.nonce, verifier=begun.verifier, acr=acr, max_age=begun.max_age
        )
        await self.store.challenges.keep(_name(name, "state", state), json.encode(begun), BEGUN_LIFE)
        return Beginning(url, binding)

    async def returned(
        self,
        name: str,
        *,
        state: str,
        code: str | None,
        iss: str | None,
        binding: str | None,
        address: str,
        user_agent: str,
    ) -> Returned:
        """Return the URL for a browser that the provider sent back with these parameters.

        If the sign-in of a front end fails after its ``state`` was found, the URL gets ``error``, the code of
        the refusal. Raises ``NotFound``. Raises ``SignInFailed`` for an unknown or used state, one of another
        browser or provider, and for any failure with cookies. A user with a second factor of this service is
        sent to its page.
        """
        provider = self._provider(name)
        begun = await self._spend(_name(name, "state", state))
        if begun is None:
            raise refused(name, "an unknown state")
        known = _begun.decode(begun)
        if known.binding and not hmac.compare_digest(known.binding, _digest(binding or "")):
            raise refused(name, "another browser")
        try:
            identity = await self._identity(provider, known, code, iss)
        except SignInFailed as refusal:
            if known.binding:
                raise
            return Returned(_with(known.next, error=refusal.code))
        if known.binding:
            try:
                pair = await self._open(_Confirmed(known, identity), address, user_agent)
            except SecondFactorRequired as demand:
                return Returned(self._second_step(known.next, str(demand.extra["challenge"])))
            return Returned(known.next, pair)
        issued = secrets.token_urlsafe(32)
        await self.store.challenges.keep(
            _name("", "code", issued), json.encode(_Confirmed(known, identity)), CODE_LIFE
        )
        return Returned(_with(known.next, code=issued))

    async def redeem(self, code: str, verifier: str, address: str, user_agent: str) -> TokenPair:
        """Return the tokens for the code of a front end, by the verifier that it kept.

        Raises ``SignInFailed``, and what ``LoginService.by_provider`` raises.
        """
        await self.logins.may_sign_in(address)
        facts = await self._spend(_name("", "code", code))
        if facts is None:
            raise refused("", "an unknown code")
        confirmed = _confirmed.decode(facts)
        challenge = confirmed.begun.challenge
        if not _VERIFIER.fullmatch(verifier) or not hmac.compare_digest(s256(verifier), challenge):
            raise refused(confirmed.begun.provider, "another verifier")
        return await self._open(confirmed, address, user_agent)

    async def _require(self, caller: Caller, purpose: Purpose) -> str:
        """Return the caller's session; raise unless the caller may link or step up.

        Linking needs the rights for a new way to sign in.
        """
        if caller.key_id is not None:
            raise Conflict(sentence("session_of_key"), rule="kind_of_account")
        if purpose == "link":
            async with self.database.transaction() as connection:
                check = await self.delegation.check(connection, caller)
                has_one = await factors.has_any(connection, caller.user_id)
                act: Act = "change-factors" if has_one else "enrol-first-factor"
                await check.require_act(connection, oneself(caller), act)
        return name_of(await live_session(self.store, caller))

    async def close(self) -> None:
        for provider in self.providers.values():
            await provider.close()

    async def _identity(
        self, provider: Provider, known: Begun, code: str | None, iss: str | None
    ) -> Identity:
        try:
            await provider.require_issuer(iss)
            answer = await provider.exchange(code or "", known.verifier)
            return await provider.identity(answer, known.nonce, known.max_age)
        except Untrusted as error:
            raise refused(provider.name, str(error)) from None

    async def _open(self, confirmed: _Confirmed, address: str, user_agent: str) -> TokenPair:
        known = confirmed.begun

        async def prove() -> ProviderProof:
            provider = self._provider(known.provider)
            stored, sign_in = await self.accounts.account(provider, known, confirmed.identity)
            return ProviderProof(self.database, stored, confirmed.identity, sign_in)

        return await self.logins.by_proof(prove, known.device, address, user_agent)

    async def _spend(self, name: str) -> bytes | None:
        """Return the value kept under a name and delete it; None if it is unknown or used."""
        facts = await self.store.challenges.answered(name)
        return facts if facts is not None and await self.store.challenges.spend(name) else None

    def _second_step(self, next_: str, challenge: str) -> str:
        """Return the console page for the second step of a sign-in with cookies.

        Without the console, the page that the sign-in leads to gets the challenge.
        """
        if not self.console:
            return _with(next_, error=SecondFactorRequired.code, challenge=challenge)
        further = {} if next_ == _CONSOLE else {"next": next_}
        return f"{_CONSOLE}#/sign-in?{urlencode({'challenge': challenge, **further})}"

    def _provider(self, name: str) -> Provider:
        if (provider := self.providers.get(name)) is None:
            raise NotFound(sentence("no_such_provider"))
        return provider

    def _may_lead_to(self, next_: str) -> bool:
        if len(next_) > _LONGEST_NEXT:
            return False
        if _OWN_PATH.fullmatch(next_):
            return True
        foreign = _FOREIGN.fullmatch(next_)
        return foreign is not None and foreign[1].lower() in self.settings.next_origins


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _name(provider: str, what: str, secret: str) -> str:
    """Return the store key for a secret; the provider's name in it binds the secret to that provider."""
    return _digest(f"oidc {what} {provider} {secret}")


def _with(next_: str, **query: str) -> str:
    parts = urlsplit(next_)
    joined = "&".join(filter(None, (parts.query, urlencode(query))))
    return parts._replace(query=joined).geturl()
