"""Verifies tokens: JWTs (RFC 7519), by joserfc's algorithms after a strict check of their form.

The form is checked here before any key is used (RFC 8725 §3). It requires the one configured ``alg`` (§3.1),
one of our keys (§3.8), and no header member that could change how the token is read (§3.10). Each part has
one canonical encoding, so that no two texts are the same token. Claims have exact types.
"""

import hmac
import re
import time
from collections.abc import Callable, Collection, Mapping
from functools import partial
from math import inf
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec
from joserfc.errors import JoseError
from joserfc.jwa import JWSAlgModel
from joserfc.jwk import JWKRegistry, Key, OctKey
from joserfc.jws import JWSRegistry
from msgspec import UNSET

from service.authn.claims import AccessClaims, ClientClaims, RefreshClaims
from service.authn.signing_keys import VerifyingKey
from service.errors import RefreshRejected, RefreshRequired, TokenExpired, TokenInvalid, Unavailable
from service.kernel.base64url import decoded, encoded
from service.kernel.core_sentences import sentence
from service.kernel.restore_epoch import FIRST, CurrentRestoreEpoch
from service.kernel.strict_json import strict_object

MAX_LENGTH = 8192
_FORM = re.compile(r"([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)")
_HEADER_MEMBERS = {"alg", "typ", "kid"}
_LONGEST_KID = 64  # ours have 43 characters
_LONGEST_HEADER = 512  # characters; ours have about 110
Claims = AccessClaims | RefreshClaims | ClientClaims
_Claims = TypeVar("_Claims", bound=Claims)

Sign = Callable[[bytes], bytes]
"""Returns the signature of a message."""

Verify = Callable[[bytes, bytes], bool]
"""Returns whether a message has a signature."""


class Verified(NamedTuple, Generic[_Claims]):
    """Claims that were verified, in seconds since the epoch: by a key that ends, and taken from then on."""

    claims: _Claims
    key_ends: float
    begins: float


class _Verifying(NamedTuple):
    key: VerifyingKey
    verify: Verify


class Accepted(NamedTuple):
    """Conditions on accepted tokens: algorithm, issuer and audience; ``leeway`` in seconds."""

    algorithm: str
    issuer: str
    audience: str
    leeway: float


class TokenVerifier:
    """Verifies access, refresh and client tokens; one is never accepted as another."""

    def __init__(
        self,
        accepted: Accepted,
        keys: Collection[VerifyingKey],
        now: Callable[[], float] = time.time,
        restore_epoch: CurrentRestoreEpoch | None = None,
    ) -> None:
        """``now`` returns the time for checking tokens, in seconds since the epoch.

        ``restore_epoch`` is the one whose tokens are accepted; without it, the first. The first key is that
        of tokens that name none.
        """
        self.now = now
        self.restore_epoch = CurrentRestoreEpoch(FIRST) if restore_epoch is None else restore_epoch
        self._accepted = accepted
        self._algorithm = algorithm_of(accepted.algorithm)
        for key in keys:
            self._algorithm.check_key(key.key)
        self._verifying = tuple(_Verifying(key, verifying(self._algorithm, key.key)) for key in keys)
        self._own = {self._header("JWT", each.key.kid): each for each in self._verifying}

    def verify_access(self, token: str) -> AccessClaims:
        """Return the claims of an access token.

        Raises ``TokenInvalid``, ``TokenExpired`` and the errors of ``require_restore_epoch``. Raises
        ``RefreshRequired`` for a token issued later than now: the session store's clock was set.
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

    def _header(self, kind: str, kid: str) -> str:
        """Return the first part of a token that the key ``kid`` signs; ``kind`` is its ``typ``."""
        return encoded(msgspec.json.encode({"alg": self._accepted.algorithm, "kid": kid, "typ": kind}))

    def _restore_epoch(self) -> str:
        if (name := self.restore_epoch.name) is None:
            raise Unavailable(sentence("database_unread"))
        return name

    def _verify(self, token: str, *kinds: type[_Claims]) -> Verified[_Claims]:
        """Return the claims of a token of one of ``kinds``, selected by its ``typ``."""
        try:
            parts = _parts(token)
            key, verify = self._key_of(parts.header)
            payload = strict_object(_signed_payload(parts, verify))
            kind = next((candidate for candidate in kinds if payload.get("typ") == candidate.TYPE), kinds[0])
            claims = msgspec.convert(payload, kind)
        except (ValueError, JoseError):  # msgspec's ValidationError is a ValueError
            raise TokenInvalid from None
        self._check_claims(claims)
        return Verified(claims, key.until, claims.iat - self._accepted.leeway)

    def _key_of(self, part: str) -> _Verifying:
        """Return the key that the header names, by the first part of a token.

        A header written by this service is recognised; any other is read and checked.
        """
        known = self._own.get(part)
        if known is not None and self.now() < known.key.until:
            return known
        return self._named_key(strict_object(decoded(part)))

    def _named_key(self, header: dict[str, object]) -> _Verifying:
        """Return the key that the checked header names; the current one if it names none."""
        if not header.keys() <= _HEADER_MEMBERS:
            raise ValueError("the header has a member that is not allowed")
        if header.get("alg") != self._accepted.algorithm or header.get("typ", "JWT") != "JWT":
            raise ValueError("the header has another algorithm or type")
        if "kid" not in header:
            return self._verifying[0]
        kid = header["kid"]
        if not isinstance(kid, str) or len(kid) > _LONGEST_KID:
            raise ValueError("the key id in the header is not a short text")
        for each in self._verifying:
            if each.key.kid == kid and self.now() < each.key.until:
                return each
        raise ValueError("the key in the header is not accepted")

    def _check_claims(self, claims: Claims) -> None:
        now = self.now()
        soon = now + self._accepted.leeway
        ours = claims.iss == self._accepted.issuer and claims.aud == self._accepted.audience
        begun = claims.nbf is UNSET or claims.nbf <= soon
        if not (ours and begun and claims.iat < claims.exp):
            raise TokenInvalid
        if claims.exp <= now:
            raise TokenExpired
        self.require_restore_epoch(claims)
        if claims.iat > soon and not isinstance(claims, RefreshClaims):
            raise RefreshRequired


def public_key(jwk: Mapping[str, Any]) -> VerifyingKey:
    """Return a public key of a published set (RFC 7517); ValueError for a shared key or none."""
    key = JWKRegistry.import_key(dict(jwk))
    if jwk.get("kty") == "oct" or key.is_private or not isinstance(jwk.get("kid"), str):
        raise ValueError("not a public key")
    return VerifyingKey(jwk["kid"], key, inf, jwk)


class _Parts(NamedTuple):
    """The parts of a token, each in the alphabet of base64url."""

    header: str
    payload: str
    signature: str


def _parts(token: str) -> _Parts:
    """Return the parts of a token; ValueError for a text of another form."""
    if len(token) > MAX_LENGTH or (form := _FORM.fullmatch(token)) is None:
        raise ValueError("not three parts of base64url")
    parts = _Parts(*form.groups())
    if len(parts.header) > _LONGEST_HEADER:
        raise ValueError("the header is too long")
    return parts


def _signed_payload(parts: _Parts, verify: Verify) -> bytes:
    """Return the payload, if its key has signed it with its header; else raises ValueError or JoseError."""
    payload, signature = decoded(parts.payload), decoded(parts.signature)
    if not verify(f"{parts.header}.{parts.payload}".encode("ascii"), signature):
        raise ValueError("the signature does not match the key")
    return payload


def signing(algorithm: JWSAlgModel, key: Key) -> Sign:
    """Return the function that signs a message by ``key``; an HS key is read once (RFC 7518 §3.2)."""
    if isinstance(key, OctKey):
        return partial(hmac.digest, key.get_op_key("sign"), digest=_hash_of(algorithm))
    return partial(algorithm.sign, key=key)


def verifying(algorithm: JWSAlgModel, key: Key) -> Verify:
    """Return the function that verifies the signature of a message by ``key``."""
    if not isinstance(key, OctKey):
        return partial(algorithm.verify, key=key)
    secret, digest = key.get_op_key("verify"), _hash_of(algorithm)

    def verify(message: bytes, signature: bytes) -> bool:
        return hmac.compare_digest(signature, hmac.digest(secret, message, digest))

    return verify


def _hash_of(algorithm: JWSAlgModel) -> str:
    """Return the hash of an HS algorithm: ``sha256`` of HS256."""
    return f"sha{algorithm.name.removeprefix('HS')}"


def algorithm_of(name: str) -> JWSAlgModel:
    """Return joserfc's algorithm ``name``, and no other: a token's header does not choose it.

    ``get_alg`` of its registry would warn of EdDSA: RFC 9864 discourages the name because it leaves the curve
    open, which our key check has settled.
    """
    return JWSRegistry.algorithms[name]
