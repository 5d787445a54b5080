"""One provider: its metadata, keys, sign-in URL and tokens."""

import asyncio
import hmac
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final, cast
from urllib.parse import quote, urlencode, urlsplit

import structlog

from service.errors import Unavailable
from service.features.oidc.exchanging import Tokens, exchange
from service.features.oidc.fetching import Fetcher, ProviderRefused
from service.features.oidc.sentences import sentence
from service.features.oidc.signatures import (
    ALGORITHMS,
    PublicKey,
    UnknownKey,
    Untrusted,
    claims_of,
    keys_of,
    parsed,
)
from service.kernel.assurance import Acr
from service.kernel.base64url import encoded
from service.kernel.text import unseen_fault
from service.settings import Provider as Settings
from service.settings.providers import is_secure_place

METADATA_LIFE: Final = 3600.0
KEYS_LIFE: Final = 300.0
"""Seconds after which keys are read again; the limit for trusting a withdrawn key."""
AGAIN: Final = 10.0
"""Seconds before a request is repeated after a failure or for an unknown key."""
LEEWAY: Final = 30.0
"""The allowed clock skew in seconds."""
LONGEST: Final = 600.0
"""The maximum age in seconds of a newly requested token."""
MAX_SUBJECT: Final = 255
_LATEST: Final = 2**53
_MOST_GROUPS: Final = 5000
_MOST_METHODS: Final = 10
_EVENT: Final = "http://schemas.openid.net/event/backchannel-logout"
_PLACES: Final = ("authorization_endpoint", "token_endpoint", "jwks_uri")
_OPTIONAL_PLACES: Final = ("end_session_endpoint", "userinfo_endpoint")

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Metadata:
    """Metadata of a provider; ``issues``: its answers contain its issuer (RFC 9207).

    ``secret_by_form``: it accepts a client secret only in the form, not by HTTP Basic.
    """

    authorization: str
    token: str
    keys: str
    end_session: str | None
    userinfo: str | None
    algorithms: frozenset[str]
    issues: bool
    secret_by_form: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """The identity in a verified token. ``auth_time`` is 0 if the provider does not send it.

    ``groups`` is None if the token has no groups.
    """

    subject: str
    acr: Acr
    amr: tuple[str, ...]
    auth_time: float
    sid: str | None
    user_name: str | None
    nick_name: str | None
    email: str | None
    groups: tuple[str, ...] | None
    id_token: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class LogoutOrder:
    """A request to end sessions: those of a subject, a session of the provider, or both."""

    subject: str | None
    sid: str | None
    jti: str


class Provider:
    """One provider for sign-in. ``now`` is in seconds since the epoch.

    Methods that send requests raise ``Unavailable``; methods that verify a token raise ``Untrusted``.
    """

    def __init__(
        self, settings: Settings, redirect_uri: str, timeout: float, now: Callable[[], float]
    ) -> None:
        self.settings = settings
        self.redirect_uri = redirect_uri
        self._fetcher = Fetcher(settings.name, timeout, settings.ca_file)
        self._now = now
        self._lock = asyncio.Lock()
        self._metadata: tuple[float, Metadata] | None = None
        self._keys: tuple[float, tuple[PublicKey, ...]] | None = None
        self._failed = float("-inf")

    @property
    def name(self) -> str:
        """The name in the settings, in paths, and of the directory."""
        return self.settings.name

    async def close(self) -> None:
        await self._fetcher.close()

    async def metadata(self) -> Metadata:
        """Return the provider's metadata, at most an hour old."""
        known = self._metadata
        if known is not None and self._monotonic() < known[0] + METADATA_LIFE:
            return known[1]
        async with self._lock:
            if self._metadata is known:
                path = "/.well-known/openid-configuration"
                document = await self._fetched(f"{self.settings.issuer.rstrip('/')}{path}")
                self._metadata = self._monotonic(), self._read_metadata(document)
                self._keys = None
            assert self._metadata is not None  # noqa: S101 - it was read
            return self._metadata[1]

    async def authorization_url(
        self,
        *,
        state: str,
        nonce: str,
        verifier: str,
        acr: Acr | None = None,
        max_age: int | None = None,
    ) -> str:
        """Return the sign-in URL for a browser; ``acr`` and ``max_age`` (s) are for a step-up."""
        place = (await self.metadata()).authorization
        query = {
            "response_type": "code",
            "client_id": self.settings.client_id,
            "redirect_uri": self.redirect_uri,
            "scope": " ".join(self.settings.scopes),
            "state": state,
            "nonce": nonce,
            "code_challenge": s256(verifier),
            "code_challenge_method": "S256",
        }
        if acr is not None:
            enough = ("phr",) if acr == "phr" else ("mfa", "phr")
            values = [value for value, worth in self.settings.acr.items() if worth in enough]
            query["acr_values"] = " ".join(values)
        if max_age is not None:
            query["max_age"] = str(max_age)
        sent = {name: value for name, value in query.items() if value}
        return f"{place}{'&' if '?' in place else '?'}{urlencode(sent, quote_via=quote)}"

    async def require_issuer(self, iss: str | None) -> None:
        """Raise ``Untrusted`` unless an answer comes from this provider (RFC 9207)."""
        if iss is None and not (await self.metadata()).issues:
            return
        if iss != self.settings.issuer:
            raise Untrusted("the answer of another provider")

    async def exchange(self, code: str, verifier: str) -> Tokens:
        """Return the tokens for an authorization code; raises ``Untrusted`` for a refused code."""
        if not code:
            raise Untrusted("no code")
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self.redirect_uri,
            "code_verifier": verifier,
        }
        known = await self.metadata()
        return await exchange(
            self.settings, self._fetcher, known.token, form, self._now(), by_form=known.secret_by_form
        )

    async def identity(self, tokens: Tokens, nonce: str, max_age: int | None = None) -> Identity:
        """Return the identity of a sign-in; ``max_age`` is the requested value in seconds.

        Name, address and groups that the ID token lacks are requested from the provider.
        """
        claims = await self._claims(tokens.id_token, ("jwt",))
        if not hmac.compare_digest(str(claims.get("nonce", "")).encode(), nonce.encode()):
            raise Untrusted("another nonce")
        now = self._now()
        auth_time = _number(claims.get("auth_time"))
        if auth_time is not None and auth_time > now + LEEWAY:
            raise Untrusted("a login time in the future")
        if max_age is not None and (auth_time is None or auth_time < now - max_age - LEEWAY):
            raise Untrusted("an older login than requested")
        acr, subject = claims.get("acr"), _subject(claims)
        known = await self._with_userinfo(claims, subject, tokens.access_token)
        email = _text(known.get(self.settings.address_claim))
        return Identity(
            subject=subject,
            acr=self.settings.acr.get(acr, "pwd") if isinstance(acr, str) else "pwd",
            amr=_methods(claims.get("amr")),
            auth_time=0.0 if auth_time is None else min(auth_time, now),
            sid=_text(claims.get("sid")),
            user_name=_text(known.get(self.settings.name_claim)),
            nick_name=_text(known.get(self.settings.nick_name_claim)),
            email=email if known.get("email_verified") is True else None,
            groups=_groups(known.get(self.settings.groups_claim)),
            id_token=tokens.id_token,
        )

    async def _with_userinfo(
        self, claims: Mapping[str, object], subject: str, access_token: str | None
    ) -> Mapping[str, object]:
        """Return the claims with those that only the userinfo endpoint has (OpenID Connect Core §5.3).

        Raises ``Untrusted`` for an answer about another subject (§5.3.2) and for a refusal. Signed answers
        are not read.
        """
        settings, place = self.settings, (await self.metadata()).userinfo
        wanted_claims = {settings.name_claim, settings.address_claim, settings.groups_claim}
        missing = (wanted_claims | {settings.nick_name_claim}) - claims.keys()
        if place is None or access_token is None or not missing & wanted_claims:
            return claims
        try:
            answer = await self._fetcher.get(place, {"Authorization": f"Bearer {access_token}"})
        except ProviderRefused as refusal:
            raise Untrusted(f"the user information was refused with status {refusal.status}") from None
        if answer.get("sub") != subject:
            raise Untrusted("the user information of another subject")
        if settings.address_claim in missing:
            missing.add("email_verified")  # of the same answer as the address
        return {**claims, **{name: answer.get(name) for name in missing}}

    async def logout_order(self, token: str) -> LogoutOrder:
        """Return the content of a logout token (OpenID Connect Back-Channel Logout 1.0 §2.6)."""
        claims = await self._claims(token, ("jwt", "logout+jwt"))
        events, jti = claims.get("events"), _text(claims.get("jti"))
        if not isinstance(events, dict) or not isinstance(events.get(_EVENT), dict):
            raise Untrusted("no event of a logout")
        if "nonce" in claims:
            raise Untrusted("an ID token in the place of a logout token")
        subject = None if claims.get("sub") is None else _subject(claims)
        sid = _text(claims.get("sid"))
        if jti is None or (subject is None and sid is None):
            raise Untrusted("no user to log out")
        return LogoutOrder(subject, sid, jti)

    async def end_session_url(self, back: str, id_token: str | None) -> str | None:
        """Return the provider's logout URL, which leads back to ``back``; None if the provider has none.

        The ID token identifies the session (OpenID Connect RP-Initiated Logout 1.0 §2).
        """
        place = (await self.metadata()).end_session
        if place is None:
            return None
        parameters = {"client_id": self.settings.client_id, "post_logout_redirect_uri": back}
        query = urlencode(parameters | ({"id_token_hint": id_token} if id_token else {}))
        return f"{place}{'&' if '?' in place else '?'}{query}"

    async def _claims(self, token: str, types: tuple[str, ...]) -> dict[str, object]:
        """Return the claims of a token after verifying signature, issuer, audience and validity."""
        signed = parsed(token, types)
        accepted = (await self.metadata()).algorithms
        try:
            claims = claims_of(signed, await self._current_keys(), accepted)
        except UnknownKey:
            claims = claims_of(signed, await self._current_keys(anew=True), accepted)
        if claims.get("iss") != self.settings.issuer:
            raise Untrusted("another issuer")
        audience, client = claims.get("aud"), self.settings.client_id
        listed = audience if isinstance(audience, list) else [audience]
        if client not in listed:
            raise Untrusted("another audience")
        if ("azp" in claims or len(listed) > 1) and claims.get("azp") != client:
            raise Untrusted("another authorized party")
        now = self._now()
        issued, ends = _number(claims.get("iat")), _number(claims.get("exp"))
        begins = _number(claims.get("nbf", 0))
        if issued is None or ends is None or begins is None or begins > now + LEEWAY:
            raise Untrusted("no timestampstampstampstamps")
        if not now - LONGEST < issued <= now + LEEWAY or ends <= now - LEEWAY:
            raise Untrusted("too old, or not yet issued")
        return claims

    async def _current_keys(self, *, anew: bool = False) -> tuple[PublicKey, ...]:
        place = (await self.metadata()).keys
        known = self._keys
        now = self._monotonic()
        if known is not None and now < known[0] + (AGAIN if anew else KEYS_LIFE):
            return known[1]
        async with self._lock:
            if self._keys is known:
                self._keys = self._monotonic(), keys_of(await self._fetched(place))
            assert self._keys is not None  # noqa: S101 - they were read
            return self._keys[1]

    async def _fetched(self, url: str) -> Mapping[str, object]:
        """Return a document; callers that waited for the lock do not repeat a request that just failed."""
        if self._monotonic() < self._failed + AGAIN:
            raise Unavailable(sentence("provider_silent"))
        try:
            return await self._fetcher.get(url)
        except (Unavailable, ProviderRefused) as error:
            self._failed = self._monotonic()
            raise Unavailable(sentence("provider_answer_invalid")) from error

    @staticmethod
    def _monotonic() -> float:
        return asyncio.get_running_loop().time()

    def _read_metadata(self, document: Mapping[str, object]) -> Metadata:
        """Return the metadata in a document.

        Raises ``Unavailable`` for another issuer and for invalid URLs.
        """
        if document.get("issuer") != self.settings.issuer:
            raise self._faulty("issuer")
        places: dict[str, str | None] = {}
        for name in (*_PLACES, *_OPTIONAL_PLACES):
            place = document.get(name)
            if place is None and name in _OPTIONAL_PLACES:
                places[name] = None
                continue
            if not isinstance(place, str) or not is_secure_place(place) or not self._as_secure(place):
                raise self._faulty(name)
            places[name] = place
        announced = document.get("id_token_signing_alg_values_supported", ["RS256"])
        listed = announced if isinstance(announced, list) else []
        algorithms = ALGORITHMS & {each for each in listed if isinstance(each, str)}
        if not algorithms:
            raise self._faulty("id_token_signing_alg_values_supported")
        methods = document.get("token_endpoint_auth_methods_supported")
        methods = methods if isinstance(methods, list) else []
        return Metadata(
            cast("str", places["authorization_endpoint"]),
            cast("str", places["token_endpoint"]),
            cast("str", places["jwks_uri"]),
            places["end_session_endpoint"],
            places["userinfo_endpoint"],
            algorithms,
            document.get("authorization_response_iss_parameter_supported") is True,
            "client_secret_post" in methods and "client_secret_basic" not in methods,
        )

    def _as_secure(self, place: str) -> bool:
        """Return whether a URL is https; http is accepted if the issuer uses it (on this machine)."""
        return place.startswith("https:") or urlsplit(self.settings.issuer).scheme == "http"

    def _faulty(self, member: str) -> Unavailable:
        _log.error("the metadata of a provider are not to be trusted", provider=self.name, member=member)
        self._failed = self._monotonic()
        return Unavailable(sentence("provider_answer_invalid"))


def s256(verifier: str) -> str:
    """Return the challenge of a verifier (RFC 7636 §4.2)."""
    return encoded(sha256(verifier.encode("ascii")).digest())


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or abs(value) > _LATEST:
        return None
    return float(value)


def _text(value: object) -> str | None:
    fits = isinstance(value, str) and 0 < len(value) <= MAX_SUBJECT and unseen_fault(value) is None
    return cast("str", value) if fits else None


def _subject(claims: Mapping[str, object]) -> str:
    subject = _text(claims.get("sub"))
    if subject is None:
        raise Untrusted("no subject")
    return subject


def _methods(value: object) -> tuple[str, ...]:
    """Return the authentication methods (RFC 8176) of a token; anything but short words is dropped."""
    listed = value if isinstance(value, list) else []
    words = [each for each in listed if isinstance(each, str) and each.isalnum() and each.isascii()]
    return tuple(word for word in words[:_MOST_METHODS] if len(word) <= 16) or ("pwd",)  # noqa: PLR2004


def _groups(value: object) -> tuple[str, ...] | None:
    if isinstance(value, str):
        value = [value]
    if not isinstance(value, list):
        return None
    groups = tuple(dict.fromkeys(each for each in value[:_MOST_GROUPS] if isinstance(each, str)))
    if any(unseen_fault(group) is not None for group in groups):
        raise Untrusted("a group with an invisible character")
    return groups
