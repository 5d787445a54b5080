"""One provider: its metadata and keys, the address to sign in at, and what its tokens say."""

import asyncio
import base64
import hmac
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final, cast
from urllib.parse import quote, urlencode, urlsplit

import msgspec
import structlog
from joserfc.jwk import ECKey, RSAKey
from joserfc.jws import JWSRegistry

from service.authn.oidc.fetching import Fetcher, ProviderRefused
from service.authn.oidc.signatures import (
    ALGORITHMS,
    PublicKey,
    UnknownKey,
    Untrusted,
    claims_of,
    keys_of,
    parsed,
)
from service.errors import Unavailable
from service.kernel.assurance import Acr
from service.settings import Provider as Settings
from service.settings.providers import is_secure_place
from service.settings.secrecy import mounted_text

METADATA_LIFE: Final = 3600.0
KEYS_LIFE: Final = 300.0
"""Seconds after which keys are read anew: one that was withdrawn is trusted for no longer."""
AGAIN: Final = 10.0
"""Seconds before a provider is asked again: for a key that it did not have, or when it failed."""
LEEWAY: Final = 30.0
"""Seconds by which clocks may differ."""
LONGEST: Final = 600.0
"""Seconds after which a token that has just been asked for is too old."""
MAX_SUBJECT: Final = 255
_LATEST: Final = 2**53
_MOST_GROUPS: Final = 5000
_MOST_METHODS: Final = 10
_EVENT: Final = "http://schemas.openid.net/event/backchannel-logout"
_ASSERTION: Final = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Metadata:
    """What a provider says of itself; ``issues`` tells that it names itself in its answers (RFC 9207)."""

    authorization: str
    token: str
    keys: str
    end_session: str | None
    algorithms: frozenset[str]
    issues: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Who has signed in, by a token that was verified. ``auth_time`` is 0 where the provider does not say.

    ``groups`` is None if the token tells none.
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


@dataclass(frozen=True, slots=True)
class LogoutOrder:
    """That sessions are to end: of this subject, of this session of the provider, or both."""

    subject: str | None
    sid: str | None
    jti: str


class Provider:
    """One provider at which people sign in. ``now`` is in seconds since the epoch.

    Methods that ask the provider raise ``Unavailable``; those that judge a token raise ``Untrusted``.
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
        """Close the connections."""
        await self._fetcher.close()

    async def metadata(self) -> Metadata:
        """Return what the provider says of itself, at most an hour old."""
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
        """Return where a browser is sent to sign in; ``acr`` and ``max_age`` (s) are for a step-up."""
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
        """Return if an answer comes from this provider (RFC 9207); ``Untrusted`` else."""
        if iss is None and not (await self.metadata()).issues:
            return
        if iss != self.settings.issuer:
            raise Untrusted("the answer of another provider")

    async def exchange(self, code: str, verifier: str) -> str:
        """Return the ID token for an authorization code; ``Untrusted`` for a code that is refused."""
        if not code:
            raise Untrusted("no code")
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self.redirect_uri,
            "code_verifier": verifier,
        }
        place = (await self.metadata()).token
        headers = {}
        if self.settings.client_key_file is not None:
            form |= {
                "client_id": self.settings.client_id,
                "client_assertion_type": _ASSERTION,
                "client_assertion": self._assertion(place),
            }
        else:
            pair = f"{quote(self.settings.client_id, safe='')}:{quote(self._secret(), safe='')}"
            headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
        try:
            answer = await self._fetcher.post(place, form, headers)
        except ProviderRefused as refusal:
            raise Untrusted(f"the code was refused with status {refusal.status}") from None
        token = answer.get("id_token")
        if not isinstance(token, str):
            raise Untrusted("no ID token")
        return token

    async def identity(self, token: str, nonce: str, max_age: int | None = None) -> Identity:
        """Return who has signed in; ``max_age`` is what was asked for, in seconds."""
        claims = await self._claims(token, ("jwt",))
        if not hmac.compare_digest(str(claims.get("nonce", "")).encode(), nonce.encode()):
            raise Untrusted("another nonce")
        now = self._now()
        auth_time = _number(claims.get("auth_time"))
        if auth_time is not None and auth_time > now + LEEWAY:
            raise Untrusted("a login that is yet to come")
        if max_age is not None and (auth_time is None or auth_time < now - max_age - LEEWAY):
            raise Untrusted("an older login than was asked for")
        acr, email = claims.get("acr"), _text(claims.get(self.settings.address_claim))
        return Identity(
            subject=_subject(claims),
            acr=self.settings.acr.get(acr, "pwd") if isinstance(acr, str) else "pwd",
            amr=_methods(claims.get("amr")),
            auth_time=0.0 if auth_time is None else min(auth_time, now),
            sid=_text(claims.get("sid")),
            user_name=_text(claims.get(self.settings.name_claim)),
            nick_name=_text(claims.get(self.settings.nick_name_claim)),
            email=email if claims.get("email_verified") is True else None,
            groups=_groups(claims.get(self.settings.groups_claim)),
        )

    async def logout_order(self, token: str) -> LogoutOrder:
        """Return what a logout token orders (OpenID Connect Back-Channel Logout 1.0 §2.6)."""
        claims = await self._claims(token, ("jwt", "logout+jwt"))
        events, jti = claims.get("events"), _text(claims.get("jti"))
        if not isinstance(events, dict) or not isinstance(events.get(_EVENT), dict):
            raise Untrusted("no event of a logout")
        if "nonce" in claims:
            raise Untrusted("an ID token in the place of a logout token")
        subject = None if claims.get("sub") is None else _subject(claims)
        sid = _text(claims.get("sid"))
        if jti is None or (subject is None and sid is None):
            raise Untrusted("nobody to log out")
        return LogoutOrder(subject, sid, jti)

    async def end_session_url(self, back: str) -> str | None:
        """Return where a browser logs out at the provider, and comes back from; None if there is none."""
        place = (await self.metadata()).end_session
        if place is None:
            return None
        query = urlencode({"client_id": self.settings.client_id, "post_logout_redirect_uri": back})
        return f"{place}{'&' if '?' in place else '?'}{query}"

    async def _claims(self, token: str, types: tuple[str, ...]) -> dict[str, object]:
        """Return the claims of a token for this client, by this issuer, in force now, and rightly signed."""
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
            raise Untrusted("no times")
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
        """Return a document; those who wait for the lock do not ask again what has just failed."""
        if self._monotonic() < self._failed + AGAIN:
            raise Unavailable("The provider did not answer a moment ago")
        try:
            return await self._fetcher.get(url)
        except (Unavailable, ProviderRefused) as error:
            self._failed = self._monotonic()
            raise Unavailable("The provider does not answer as it should") from error

    @staticmethod
    def _monotonic() -> float:
        return asyncio.get_running_loop().time()

    def _read_metadata(self, document: Mapping[str, object]) -> Metadata:
        """Return the metadata of a document; ``Unavailable`` for another issuer, and for bad places."""
        if document.get("issuer") != self.settings.issuer:
            raise self._faulty("issuer")
        places: dict[str, str | None] = {}
        for name in ("authorization_endpoint", "token_endpoint", "jwks_uri", "end_session_endpoint"):
            place = document.get(name)
            if place is None and name == "end_session_endpoint":
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
        return Metadata(
            cast("str", places["authorization_endpoint"]),
            cast("str", places["token_endpoint"]),
            cast("str", places["jwks_uri"]),
            places["end_session_endpoint"],
            algorithms,
            document.get("authorization_response_iss_parameter_supported") is True,
        )

    def _as_secure(self, place: str) -> bool:
        """Tell whether a place is one of https, as that of the issuer is, unless that is on this machine."""
        return place.startswith("https:") or urlsplit(self.settings.issuer).scheme == "http"

    def _faulty(self, member: str) -> Unavailable:
        _log.error("the metadata of a provider are not to be trusted", provider=self.name, member=member)
        self._failed = self._monotonic()
        return Unavailable("The provider does not answer as it should")

    def _secret(self) -> str:
        if self.settings.client_secret_file is None:
            return self.settings.client_secret
        return self._mounted(self.settings.client_secret_file)

    def _mounted(self, path: Any) -> str:
        text, complaint = mounted_text(path)
        if complaint:
            _log.error("a file of a provider can't be read", provider=self.name, complaint=complaint)
            raise Unavailable("The provider is not configured completely")
        return text

    def _assertion(self, audience: str) -> str:
        """Return what proves this client to the provider by its private key (RFC 7523 §2.2)."""
        text = self._mounted(self.settings.client_key_file)
        try:
            key: Any = ECKey.import_key(text)
            algorithm = "ES256"
        except ValueError:
            key, algorithm = RSAKey.import_key(text), "RS256"
        now, client = int(self._now()), self.settings.client_id
        claims = {"iss": client, "sub": client, "aud": audience, "iat": now, "exp": now + 60}
        claims["jti"] = secrets.token_urlsafe(16)
        parts = [{"alg": algorithm, "typ": "JWT"}, claims]
        signed = ".".join(_encoded(msgspec.json.encode(part)) for part in parts)
        signature = JWSRegistry.algorithms[algorithm].sign(signed.encode("ascii"), key)
        return f"{signed}.{_encoded(signature)}"


def s256(verifier: str) -> str:
    """Return the challenge of a verifier (RFC 7636 §4.2)."""
    return _encoded(sha256(verifier.encode("ascii")).digest())


def _encoded(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode("ascii")


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or abs(value) > _LATEST:
        return None
    return float(value)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and 0 < len(value) <= MAX_SUBJECT and value.isprintable() else None


def _subject(claims: Mapping[str, object]) -> str:
    subject = _text(claims.get("sub"))
    if subject is None:
        raise Untrusted("no subject")
    return subject


def _methods(value: object) -> tuple[str, ...]:
    """Return the methods (RFC 8176) of a token; those that are no short words are left out."""
    listed = value if isinstance(value, list) else []
    words = [each for each in listed if isinstance(each, str) and each.isalnum() and each.isascii()]
    return tuple(word for word in words[:_MOST_METHODS] if len(word) <= 16) or ("pwd",)  # noqa: PLR2004


def _groups(value: object) -> tuple[str, ...] | None:
    if isinstance(value, str):
        value = [value]
    if not isinstance(value, list):
        return None
    return tuple(dict.fromkeys(each for each in value[:_MOST_GROUPS] if isinstance(each, str)))
