"""Signing in with a provider of OpenID Connect: from the first redirect to the proof that opens a session.

What is begun is kept in the session store under a secret that only the browser has, and works once: the
``state``, then the code for a front end. Accounts are known by issuer and subject, never by a name or an
address that the provider tells.
"""

import hmac
import re
import secrets
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from hashlib import sha256
from typing import Final, Literal, TypeAlias
from urllib.parse import urlencode, urlsplit

import structlog
from msgspec import Struct, json

from service.administration import change_log, user_edits
from service.administration.delegation import Delegation
from service.administration.directory import Directories
from service.administration.unit_of_work import RightsUnits, UnitOfWork
from service.administration.user_edits import NewUser
from service.authn.login_log import LoginLog
from service.authn.login_service import LoginService
from service.authn.oidc.provider import Identity, Provider, s256
from service.authn.oidc.signatures import Untrusted
from service.authn.sessions import end_sessions_of
from service.authn.token_issuer import TokenPair
from service.errors import Conflict, NotFound, PermissionDenied, SignInFailed, ValidationFailed
from service.kernel.account_acts import Act
from service.kernel.assurance import Acr
from service.kernel.codes import HeldCodes
from service.kernel.identity import OPERATOR_ID, Caller, oneself
from service.kernel.origin import field_changes
from service.kernel.write import Write
from service.keyspace import Counters, SessionStore
from service.mail.notices import Notices
from service.records import accounts, directories, factors, user_list
from service.records.accounts import Credentials
from service.records.database.transactions import Database
from service.records.directories import Directory, Origin, SignedIn
from service.records.user_list import UserValues
from service.settings import Oidc

BEGUN_LIFE: Final = 600
"""Seconds in which somebody signs in at the provider."""
CODE_LIFE: Final = 60
"""Seconds in which a front end redeems its code."""
_OPENS_WITHIN: Final = timedelta(seconds=300)
"""How long a session may open after the sign-in: a second factor of this service may come between."""
_JTI_LIFE: Final = 1800
_LINK_AGE: Final = 300
"""Seconds that the login at the provider may be old whose account is linked."""
_VERIFIER: Final = re.compile(r"[A-Za-z0-9._~-]{43,128}")
_CHALLENGE: Final = re.compile(r"[A-Za-z0-9_-]{43}")
_OWN_PATH: Final = re.compile(r"/(?![/\\])[\x21-\x5b\x5d-\x7e]*")
_FOREIGN: Final = re.compile(r"(https?://[A-Za-z0-9.:\[\]_-]+)((?:[/?#][\x21-\x5b\x5d-\x7e]*)?)")
_LONGEST_NEXT: Final = 1500

_log = structlog.get_logger(__name__)

Purpose: TypeAlias = Literal["sign-in", "link", "step-up"]


class Begun(Struct, frozen=True):
    """A sign-in under way. ``challenge`` is that of a front end, ``binding`` the digest of a cookie.

    ``user_id`` is who links an account or steps up, 0 for nobody.
    """

    provider: str
    nonce: str
    verifier: str
    next: str
    device: str
    challenge: str = ""
    binding: str = ""
    purpose: Purpose = "sign-in"
    user_id: int = 0
    max_age: int | None = None


class _Confirmed(Struct, frozen=True):
    begun: Begun
    identity: Identity


_begun = json.Decoder(Begun)
_confirmed = json.Decoder(_Confirmed)


@dataclass(frozen=True, slots=True)
class Beginning:
    """Where a browser goes to sign in, and the secret of its cookie; "" without one."""

    url: str
    binding: str


@dataclass(frozen=True, slots=True)
class Returned:
    """Where a browser goes after the provider; ``pair`` are the tokens of a session in cookies."""

    next: str
    pair: TokenPair | None = None


class ProviderProof:
    """That the person of an account has signed in with a provider which knows the account."""

    def __init__(self, stored: Credentials, identity: Identity) -> None:
        self._user_id = stored.user_id
        self.user_name = stored.user_name
        self.acr: Acr = identity.acr
        self.amr: tuple[str, ...] = identity.amr
        # Long ago where the provider does not say: that satisfies no age.
        self.auth_time: float | None = identity.auth_time or 1.0

    async def compare(self, stored: Credentials | None) -> None:
        """See ``Proof``: it is the same user still."""
        if stored is None or stored.user_id != self._user_id:
            raise SignInFailed

    async def renew(self, stored: Credentials) -> None:
        """See ``Proof``: there is nothing to renew."""


class ProviderSignIn:
    """Signs people in with the providers of the settings; without any, every method raises ``NotFound``."""

    def __init__(
        self,
        settings: Oidc,
        providers: Mapping[str, Provider],
        *,
        database: Database,
        store: SessionStore,
        logins: LoginService,
        delegation: Delegation,
        units: RightsUnits,
        directories: Directories,
        notices: Notices,
        log: LoginLog,
    ) -> None:
        self._settings = settings
        self._providers = providers
        self._database = database
        self._kept = store.challenges
        self._store = store
        self._counters: Counters = store.counters
        self._logins = logins
        self._delegation = delegation
        self._units = units
        self._directories = directories
        self._notices = notices
        self._entries = log

    def names(self) -> list[tuple[str, str]]:
        """Return the names and titles of the providers, in their order."""
        return [(name, each.settings.title or name) for name, each in self._providers.items()]

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
        """Return where to sign in with the provider ``name``.

        ``next_`` is where the browser goes then. A front end gives the S256 ``challenge`` of a verifier that
        it keeps; ``in_cookies`` a cookie binds the browser instead. ``caller`` links an account or steps up.
        Raises ``NotFound``, ``ValidationFailed``, ``RateLimited`` and ``Unavailable``.
        """
        provider = self._provider(name)
        faults = []
        if not self._may_lead_to(next_):
            faults.append(("next", "must be a path of this service, or a URL of one of oidc.next_origins"))
        if in_cookies != (challenge is None):
            why = "is not for a service with cookies" if in_cookies else "must be that of a verifier (S256)"
            faults.append(("challenge", why))
        elif challenge is not None and not _CHALLENGE.fullmatch(challenge):
            faults.append(("challenge", "must be that of a verifier (S256)"))
        if faults:
            raise ValidationFailed(*faults)
        await self._logins.may_sign_in(address)
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
        )
        url = await provider.authorization_url(
            state=state, nonce=begun.nonce, verifier=begun.verifier, acr=acr, max_age=begun.max_age
        )
        await self._kept.keep(_name(name, "state", state), json.encode(begun), BEGUN_LIFE)
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
        """Return where the browser goes that comes back from the provider with these parameters.

        A sign-in that failed after its ``state`` was known leads back with ``error``, the code of a refusal.
        Raises ``NotFound``, and ``SignInFailed`` for a state of nobody, of another browser or provider, and
        for one that was used.
        """
        provider = self._provider(name)
        begun = await self._spend(_name(name, "state", state))
        if begun is None:
            raise _refused(name, "an unknown state")
        known = _begun.decode(begun)
        if known.binding and not hmac.compare_digest(known.binding, _digest(binding or "")):
            raise _refused(name, "another browser")
        try:
            identity = await self._identity(provider, known, code, iss)
        except SignInFailed as refusal:
            return Returned(_with(known.next, error=refusal.code))
        if known.binding:
            pair = await self._open(_Confirmed(known, identity), address, user_agent)
            return Returned(known.next, pair)
        issued = secrets.token_urlsafe(32)
        await self._kept.keep(_name("", "code", issued), json.encode(_Confirmed(known, identity)), CODE_LIFE)
        return Returned(_with(known.next, code=issued))

    async def redeem(self, code: str, verifier: str, address: str, user_agent: str) -> TokenPair:
        """Return the tokens for the code that a front end got, by the verifier that it has kept.

        Raises ``SignInFailed``, and what ``LoginService.by_provider`` raises.
        """
        await self._logins.may_sign_in(address)
        facts = await self._spend(_name("", "code", code))
        if facts is None:
            raise _refused("", "an unknown code")
        confirmed = _confirmed.decode(facts)
        challenge = confirmed.begun.challenge
        if not _VERIFIER.fullmatch(verifier) or not hmac.compare_digest(s256(verifier), challenge):
            raise _refused(confirmed.begun.provider, "another verifier")
        return await self._open(confirmed, address, user_agent)

    async def log_out_at(self, name: str, token: str) -> int:
        """End the sessions that a logout token of the provider is about; return how many.

        Raises ``NotFound``, ``SignInFailed`` for a token that is not to be believed or was sent before, and
        ``Unavailable``.
        """
        provider = self._provider(name)
        try:
            order = await provider.logout_order(token)
        except Untrusted as error:
            raise _refused(name, str(error)) from None
        digest = _digest(f"{name} {order.jti}")
        if await self._counters.hit(1, _JTI_LIFE, "logout-token", digest) is not None:
            raise _refused(name, "a logout token that was sent before")
        async with self._database.snapshot() as connection:
            sessions = await directories.sign_ins(
                connection, name, subject=order.subject, sid=None if order.subject else order.sid
            )
        meant = [
            each
            for each in sessions
            if each.issuer == provider.settings.issuer
            and (None in (order.sid, each.sid) or order.sid == each.sid)
        ]
        return await end_sessions_of(self._store, self._entries, meant)

    async def end_session_url(self, caller: Caller, back: str) -> str | None:
        """Return where the caller logs out at the provider by which the session was opened; None for none."""
        async with self._database.snapshot() as connection:
            signed_in = await directories.sign_in_of(connection, caller.user_id, caller.device)
        provider = None if signed_in is None else self._providers.get(signed_in.source)
        return None if provider is None else await provider.end_session_url(back)

    async def require_linking(self, caller: Caller) -> None:
        """Return for a caller who may have another way to sign in: as for a new second factor.

        Raises ``Conflict`` for an API key, ``PermissionDenied``, and ``InsufficientAuthentication``.
        """
        self.require_person(caller)
        async with self._database.transaction() as connection:
            check = await self._delegation.check(connection, caller)
            has_one = await factors.has_any(connection, caller.user_id)
            act: Act = "change-factors" if has_one else "enrol-first-factor"
            await check.require_act(connection, oneself(caller), act)

    @staticmethod
    def require_person(caller: Caller) -> None:
        """Return for a caller with a session; ``Conflict`` for one with an API key."""
        if caller.key_id is not None:
            raise Conflict("An API key has no session", rule="kind_of_account")

    async def close(self) -> None:
        """Close the connections to the providers."""
        for provider in self._providers.values():
            await provider.close()

    async def _identity(
        self, provider: Provider, known: Begun, code: str | None, iss: str | None
    ) -> Identity:
        try:
            await provider.require_issuer(iss)
            token = await provider.exchange(code or "", known.verifier)
            return await provider.identity(token, known.nonce, known.max_age)
        except Untrusted as error:
            raise _refused(provider.name, str(error)) from None

    async def _open(self, confirmed: _Confirmed, address: str, user_agent: str) -> TokenPair:
        known = confirmed.begun

        async def prove() -> ProviderProof:
            stored = await self._account(self._provider(known.provider), confirmed)
            return ProviderProof(stored, confirmed.identity)

        return await self._logins.by_provider(prove, known.device, address, user_agent)

    async def _account(self, provider: Provider, confirmed: _Confirmed) -> Credentials:
        """Return the account of who has signed in, which is made or linked where that is allowed.

        What the groups give is in force with it. The sign-in is stored before a session opens.
        """
        known, identity = confirmed.begun, confirmed.identity
        issuer = provider.settings.issuer
        async with self._database.snapshot() as connection:
            origin = await directories.origin(connection, provider.name, issuer, identity.subject)
            stored = await directories.named(connection, provider.name)
        if stored is not None and not stored.enabled:
            raise _refused(provider.name, "a provider that is cut off")
        if known.purpose != "sign-in" and origin is not None and origin.user_id != known.user_id:
            raise _refused(provider.name, "the account of somebody else")
        if origin is None and known.purpose == "step-up":
            raise _refused(provider.name, "an account that is not linked")
        if origin is None or (stored is not None and identity.groups is not None):
            user_id = await self._settled(provider, confirmed, origin, stored)
        else:
            user_id = origin.user_id
        account = await accounts.credentials_of(self._database, user_id)
        if account is None:
            raise _refused(provider.name, "no account of a person")
        opened_by = self._directories.now() + _OPENS_WITHIN
        async with self._database.transaction() as connection:
            await directories.touch(connection, provider.name, issuer, identity.subject)
            session = SignedIn(
                user_id=user_id,
                device=known.device,
                source=provider.name,
                issuer=issuer,
                subject=identity.subject,
                sid=identity.sid,
                opened_time=opened_by,
            )
            await directories.signed_in(connection, session)
        return account

    async def _settled(
        self, provider: Provider, confirmed: _Confirmed, origin: Origin | None, stored: Directory | None
    ) -> int:
        """Make or link the account, and set its roles, in one transaction; return its id."""
        known, identity = confirmed.begun, confirmed.identity
        async with self._units.of_rights(Write(_nobody(provider.name))) as unit:
            user_id = origin.user_id if origin is not None else known.user_id
            if origin is None:
                if known.purpose == "sign-in":
                    user_id = await self._made(unit, provider, identity)
                issuer = provider.settings.issuer
                place = (provider.name, issuer, identity.subject)
                if not await directories.add_origin(unit.connection, *place, user_id, managed=False):
                    raise _refused(provider.name, "an account that was just made")
                if known.purpose == "link":
                    await self._tell_linked(unit, provider.name, user_id)
            if stored is not None and identity.groups is not None:
                until = self._directories.now() + timedelta(seconds=self._settings.roles_timeout)
                try:
                    await self._directories.set_roles(
                        unit, provider.name, user_id, identity.groups, until=until, strict=False
                    )
                except PermissionDenied as refusal:
                    # Who holds more than the ceiling keeps that, and gets nothing by the groups.
                    _log.warning(
                        "a directory does not edit who holds more than it may hand out",
                        event_type="security",
                        directory=provider.name,
                        login_id=str(user_id),
                        decision_id=getattr(refusal.decision, "id", None),
                    )
        return user_id

    async def _tell_linked(self, unit: UnitOfWork, name: str, user_id: int) -> None:
        users = await user_list.read_all(unit.connection, [user_id])
        if not users:
            raise _refused(name, "an account that is gone")
        target = change_log.user_target(users[0].user_name)
        unit.changes += field_changes(target, {}, {"provider": name})
        await self._notices.tell(unit.connection, user_id, "identity_linked", "self", {"name": name})

    async def _made(self, unit: UnitOfWork, provider: Provider, identity: Identity) -> int:
        """Make the account of who signs in for the first time; ``SignInFailed`` where there is to be none."""
        settings = provider.settings
        domain = (identity.email or "").rpartition("@")[2].lower()
        if settings.create == "never" or (
            settings.create == "known-domain" and domain not in settings.domains
        ):
            raise _refused(provider.name, "somebody without an account")
        mark = sha256(f"{settings.issuer} {identity.subject}".encode()).hexdigest()[:8]
        names = [identity.user_name, identity.user_name and f"{identity.user_name}-{mark}"]
        for user_name in (*names, f"{provider.name}-{mark}"):
            values = {"user_name": user_name, "nick_name": identity.nick_name or user_name}
            if identity.email is not None:
                values["email"] = identity.email
            with suppress(Conflict, ValidationFailed):
                change_log.check_values(UserValues, values)
                if user_name is None:
                    continue
                made = await user_edits.add(unit, NewUser(values, None), None)
                target = change_log.user_target(made.user_name)
                unit.changes += field_changes(target, {}, change_log.user_fields(made))
                return made.id
        raise _refused(provider.name, "a name that is no user name")

    async def _spend(self, name: str) -> bytes | None:
        """Return what was kept under a name, and end it; None for what is unknown or was spent."""
        facts = await self._kept.answered(name)
        return facts if facts is not None and await self._kept.spend(name) else None

    def _provider(self, name: str) -> Provider:
        if (provider := self._providers.get(name)) is None:
            raise NotFound("There is no such provider")
        return provider

    def _may_lead_to(self, next_: str) -> bool:
        if len(next_) > _LONGEST_NEXT:
            return False
        if _OWN_PATH.fullmatch(next_):
            return True
        foreign = _FOREIGN.fullmatch(next_)
        return foreign is not None and foreign[1].lower() in self._settings.next_origins


def _nobody(name: str) -> Caller:
    """Return who signs in, before that is somebody: it may grant nothing."""
    return Caller(OPERATOR_ID, str(OPERATOR_ID), f"@{name}", f"@{name}", "", (), HeldCodes(()), 0.0)


def _refused(name: str, reason: str) -> SignInFailed:
    _log.warning("a sign-in was refused", event_type="security", provider=name, reason=reason)
    return SignInFailed()


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _name(provider: str, what: str, secret: str) -> str:
    """Return the name of what is kept: of a state, one that only its own provider leads to."""
    return _digest(f"oidc {what} {provider} {secret}")


def _with(next_: str, **query: str) -> str:
    parts = urlsplit(next_)
    joined = "&".join(filter(None, (parts.query, urlencode(query))))
    return parts._replace(query=joined).geturl()
