"""Tokens: JWTs (RFC 7519), signed and verified by joserfc's algorithms after a strict check of their form.

The form is checked here before any key is used (RFC 8725 §3): the one configured ``alg`` (§3.1), one of our
keys (§3.8), no header member that could change how the token is read (§3.10), one canonical encoding of each
part, so that no two texts are the same token, and exact types of claims.
"""

import base64
import re
import secrets
import time
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec
from joserfc.errors import JoseError
from joserfc.jwa import JWSAlgModel
from joserfc.jwk import Key
from joserfc.jws import JWSRegistry
from msgspec import UNSET

from service.authn.claims import AccessClaims, ClientClaims, RefreshClaims
from service.authn.signing_keys import VerifyingKey, signing_keys
from service.errors import Conflict, RefreshRejected, RefreshRequired, TokenExpired, TokenInvalid, Unavailable
from service.kernel.assurance import Authentication
from service.kernel.codes import PermissionMap
from service.kernel.restore_epoch import FIRST, CurrentRestoreEpoch
from service.kernel.strict_json import strict_object
from service.settings import Auth

MAX_LENGTH = 8192
MAX_COOKIE = 4000  # a browser drops a cookie whose name and value have more than 4096 bytes together
_FORM = re.compile(r"([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)")
_HEADER_MEMBERS = {"alg", "typ", "kid"}
_LONGEST_KID = 64  # ours have 43 characters
_LONGEST_HEADER = 512  # characters; ours have about 110
_EARLY = 20  # a token ends by a random part of at most one in so many of its seconds before rights change
Claims = AccessClaims | RefreshClaims | ClientClaims
_Claims = TypeVar("_Claims", bound=Claims)


class Verified(NamedTuple, Generic[_Claims]):
    """Claims that were verified, in seconds since the epoch: by a key that ends, and taken from then on."""

    claims: _Claims
    key_ends: float
    begins: float


class Tokens:
    """Issues and verifies access, refresh and client tokens; one is never accepted as another."""

    def __init__(
        self,
        settings: Auth,
        now: Callable[[], float] = time.time,
        restore_epoch: CurrentRestoreEpoch | None = None,
    ) -> None:
        """``now`` returns the time for checking tokens, in seconds since the epoch.

        ``restore_epoch`` is the one whose tokens are issued and accepted; without it, the first.
        """
        self.now = now
        self.restore_epoch = CurrentRestoreEpoch(FIRST) if restore_epoch is None else restore_epoch
        self._settings = settings
        self._keys = signing_keys(settings)
        self._algorithm = _algorithm(settings.jwt_algorithm)
        for key in (self._keys.signs, *(accepted.key for accepted in self._keys.accepted)):
            self._algorithm.check_key(key)
        self._headers: dict[str, str] = {}
        self._own = {self._header("JWT", key.kid): key for key in self._keys.accepted}
        self._longest = MAX_COOKIE if settings.is_read_cookie else MAX_LENGTH

    def issue_access(
        self,
        *,
        login_id: str,
        device: str,
        sid: str,
        user_name: str,
        nick_name: str,
        roles: Iterable[str],
        permissions: Iterable[str],
        permission_map: PermissionMap,
        authentication: Authentication,
        issued: int,
        ends: int,
        changes_at: datetime | None = None,
    ) -> tuple[str, int]:
        """Return an access token and its lifetime in whole seconds.

        ``issued`` and ``ends`` of the session are in milliseconds since the epoch: the token never outlives
        it, nor ``changes_at``, when the roles change by themselves: ``life_left`` is at least 1.
        Permissions are encoded as bits if there is a map, else as names. Raises ``Conflict`` if the token is
        too long.
        """
        ends = min(issued + 1000 * self._settings.access_timeout, ends)
        expires = (
            ends if changes_at is None else round(1000 * _before(changes_at, issued / 1000, ends / 1000))
        )
        codes = tuple(sorted(permissions))
        claims = AccessClaims(
            sub=login_id,
            typ="access",
            iat=issued / 1000,
            exp=expires / 1000,
            iss=self._settings.jwt_issuer,
            aud=self._settings.jwt_audience,
            dev=device,
            sid=sid,
            user_name=user_name,
            nick_name=nick_name,
            roles=tuple(roles),
            permissions=UNSET if permission_map else codes,
            pb=permission_map.encode(codes) if permission_map else UNSET,
            acr=authentication.acr,
            amr=authentication.amr,
            auth_time=authentication.auth_time,
            initial=authentication.initial,
            tl=self._restore_epoch(),
        )
        return self._sign(claims), (expires - issued) // 1000

    def issue_refresh(self, *, login_id: str, rid: str, issued: int, ends: int) -> str:
        """Return a refresh token with the id ``rid``; times in milliseconds since the epoch."""
        claims = RefreshClaims(
            sub=login_id,
            typ="refresh",
            iat=issued / 1000,
            exp=ends / 1000,
            iss=self._settings.jwt_issuer,
            aud=self._settings.jwt_audience,
            rid=rid,
            tl=self._restore_epoch(),
        )
        return self._sign(claims)

    def issue_client(
        self,
        *,
        login_id: str,
        key_id: int,
        scope: str,
        lasts: int,
        ends: float | None,
        changes_at: datetime | None = None,
    ) -> tuple[str, int]:
        """Return a token of the API key ``key_id``, and its lifetime in whole seconds.

        It ends after ``lasts`` seconds, and not after ``ends``, when the key ends, in seconds since the
        epoch, nor after ``changes_at``, as for ``issue_access``. Raises ``Conflict`` if ``scope`` makes it
        too long.
        """
        now = self.now()
        expires = now + lasts if ends is None else min(now + lasts, ends)
        if changes_at is not None:
            expires = _before(changes_at, now, expires)
        claims = ClientClaims(
            sub=login_id,
            typ="client",
            iat=round(now, 3),
            exp=expires,
            iss=self._settings.jwt_issuer,
            aud=self._settings.jwt_audience,
            client_id=str(key_id),
            scope=scope,
            tl=self._restore_epoch(),
        )
        return self._sign(claims), int(expires - now)

    def verify_access(self, token: str) -> AccessClaims:
        """Return the claims of an access token.

        Raises ``TokenInvalid``, ``TokenExpired``, what ``require_timeline`` raises, and ``RefreshRequired``
        for one that is issued later than now: the session store's clock was set.
        """
        return self.verified_access(token).claims

    def verified_access(self, token: str) -> Verified[AccessClaims]:
        """Return the claims of an access token, and when its key ends; raises like ``verify_access``."""
        return self._verify(token, AccessClaims)

    def verified_bearer(self, token: str) -> Verified[AccessClaims | ClientClaims]:
        """Return the claims of an access or client token, and when its key ends.

        Raises like ``verify_access``.
        """
        return self._verify(token, AccessClaims, ClientClaims)

    def verify_refresh(self, token: str) -> RefreshClaims:
        """Return the claims of a refresh token.

        Raises ``TokenInvalid``, ``TokenExpired`` and what ``require_timeline`` raises. When it was issued
        says nothing: its ``rid`` works once, whatever the clock of the session store has done since.
        """
        return self._verify(token, RefreshClaims).claims

    def require_restore_epoch(self, claims: Claims) -> None:
        """Return if ``claims`` were issued in the present restore epoch of the database.

        Else a restore has ended the session: ``RefreshRequired`` for an access token, ``RefreshRejected``
        (``ended``) for a refresh token, and ``TokenInvalid`` for a client token, which has no session.
        ``Unavailable`` while the restore epoch is not known.
        """
        if claims.tl == self._restore_epoch():
            return
        if isinstance(claims, ClientClaims):
            raise TokenInvalid
        raise RefreshRequired if isinstance(claims, AccessClaims) else RefreshRejected(reason="ended")

    def public_keys(self) -> list[Mapping[str, Any]]:
        """Return the public keys that are accepted now, as JWKs (RFC 7517); none for a shared key."""
        now = self.now()
        return [key.public for key in self._keys.accepted if key.public is not None and now < key.until]

    def signed(self, kind: str, claims: msgspec.Struct) -> str:
        """Return a JWT with ``claims``, and ``kind`` as the ``typ`` of its header (RFC 8725 §3.11)."""
        header = self._headers.get(kind)
        if header is None:
            header = self._headers[kind] = self._header(kind, self._keys.kid)
        signed = f"{header}.{_encoded(msgspec.json.encode(claims))}"
        signature = self._algorithm.sign(signed.encode("ascii"), self._keys.signs)
        return f"{signed}.{_encoded(signature)}"

    def _header(self, kind: str, kid: str) -> str:
        """Return the first part of a token that the key ``kid`` signs; ``kind`` is its ``typ``."""
        members = {"alg": self._settings.jwt_algorithm, "kid": kid, "typ": kind}
        return _encoded(msgspec.json.encode(members))

    def _restore_epoch(self) -> str:
        if (name := self.restore_epoch.name) is None:
            raise Unavailable("The database has not been read yet")
        return name

    def _sign(self, claims: Claims) -> str:
        token = self.signed("JWT", claims)
        if len(token) > self._longest:  # better no session than a token that is never accepted
            raise Conflict("The user's roles don't fit into a token", rule="limit")
        return token

    def _verify(self, token: str, *kinds: type[_Claims]) -> Verified[_Claims]:
        """Return the claims of a token of one of ``kinds``, told by its ``typ``."""
        try:
            parts = _parts(token)
            key = self._key_of(parts.header)
            payload = strict_object(_signed_payload(parts, self._algorithm, key.key))
            kind = next((candidate for candidate in kinds if payload.get("typ") == candidate.TYPE), kinds[0])
            claims = msgspec.convert(payload, kind)
        except (ValueError, JoseError):  # msgspec's ValidationError is a ValueError
            raise TokenInvalid from None
        self._check_claims(claims)
        return Verified(claims, key.until, claims.iat - self._settings.jwt_leeway)

    def _key_of(self, part: str) -> VerifyingKey:
        """Return the key that the header names, by the first part of a token.

        A header as this service writes it is known; any other is read and checked.
        """
        known = self._own.get(part)
        if known is not None and self.now() < known.until:
            return known
        return self._named_key(strict_object(_decoded(part)))

    def _named_key(self, header: dict[str, object]) -> VerifyingKey:
        """Return the key that the checked header names; the current one if it names none."""
        if not header.keys() <= _HEADER_MEMBERS:
            raise ValueError("the header has a member that is not allowed")
        if header.get("alg") != self._settings.jwt_algorithm or header.get("typ", "JWT") != "JWT":
            raise ValueError("the header names another algorithm or type")
        if "kid" not in header:
            return self._keys.accepted[0]
        kid = header["kid"]
        if not isinstance(kid, str) or len(kid) > _LONGEST_KID:
            raise ValueError("the header names its key by something else than a short text")
        for key in self._keys.accepted:
            if key.kid == kid and self.now() < key.until:
                return key
        raise ValueError("the header names a key that is not accepted")

    def _check_claims(self, claims: Claims) -> None:
        now = self.now()
        soon = now + self._settings.jwt_leeway
        ours = claims.iss == self._settings.jwt_issuer and claims.aud == self._settings.jwt_audience
        begun = claims.nbf is UNSET or claims.nbf <= soon
        if not (ours and begun and claims.iat < claims.exp):
            raise TokenInvalid
        if claims.exp <= now:
            raise TokenExpired
        self.require_restore_epoch(claims)
        if claims.iat > soon and not isinstance(claims, RefreshClaims):
            raise RefreshRequired


def life_left(changes_at: datetime | None, now: float) -> float:
    """Return for how many seconds a token could live that is issued now; infinity if nothing changes.

    A token ends with a whole second: services that verify it may know no smaller part.
    """
    return float("inf") if changes_at is None else int(changes_at.timestamp()) - now


def _before(changes_at: datetime, now: float, ends: float) -> float:
    """Return ``ends``, or when a token ends because roles change before; in seconds since the epoch.

    By a random part earlier then, so that not all holders of a role come back in the same second.
    """
    last = int(changes_at.timestamp())
    if last >= ends:
        return ends
    return last - secrets.randbelow(1 + int((last - now) / _EARLY))


class _Parts(NamedTuple):
    """The parts of a token, each in the alphabet of base64url."""

    header: str
    payload: str
    signature: str


def _parts(token: str) -> _Parts:
    """Return the parts of a token; ValueError for what has another form."""
    if len(token) > MAX_LENGTH or (form := _FORM.fullmatch(token)) is None:
        raise ValueError("not three parts of base64url")
    parts = _Parts(*form.groups())
    if len(parts.header) > _LONGEST_HEADER:
        raise ValueError("the header is too long")
    return parts


def _signed_payload(parts: _Parts, algorithm: JWSAlgModel, key: Key) -> bytes:
    """Return the payload, if ``key`` has signed it with its header; else raises ValueError or JoseError."""
    payload, signature = _decoded(parts.payload), _decoded(parts.signature)
    if not algorithm.verify(f"{parts.header}.{parts.payload}".encode("ascii"), signature, key):
        raise ValueError("the signature is not that of the key")
    return payload


def _encoded(content: bytes) -> str:
    """Encode base64url without padding (RFC 7515 §2)."""
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode("ascii")


def _decoded(part: str) -> bytes:
    """Decode base64url without padding (RFC 7515 §2); only the canonical text is accepted."""
    decoded = base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))
    if base64.urlsafe_b64encode(decoded).rstrip(b"=") != part.encode():
        raise ValueError("not canonical base64url")
    return decoded


def _algorithm(name: str) -> JWSAlgModel:
    """Return joserfc's algorithm ``name``, and no other: what a header says does not choose it.

    ``get_alg`` of its registry would warn of EdDSA: RFC 9864 discourages the name because it leaves the curve
    open, which our key check has settled.
    """
    return JWSRegistry.algorithms[name]
