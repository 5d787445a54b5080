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
from typing import Annotated, Any, Generic, Literal, NamedTuple, TypeVar

import msgspec
from joserfc.errors import JoseError
from joserfc.jwa import JWSAlgModel
from joserfc.jwk import JWKRegistry, Key, OctKey
from joserfc.jws import JWSRegistry
from msgspec import UNSET, Meta, Struct, UnsetType

from service.authn.claims import AccessClaims, Claims, ClientClaims, DelegatedClaims, RefreshClaims
from service.authn.signing_keys import VerifyingKey
from service.errors import RefreshRejected, RefreshRequired, TokenExpired, TokenInvalid, Unavailable
from service.kernel.base64url import decoded, encoded
from service.kernel.core_sentences import sentence
from service.kernel.restore_epoch import FIRST, CurrentRestoreEpoch
from service.kernel.strict_json import strict_json

MAX_LENGTH = 8192
# Header (ours have about 110 characters), payload and signature.
_FORM = re.compile(r"([A-Za-z0-9_-]{1,512})\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)")
_Claims = TypeVar("_Claims", bound=Claims)

Sign = Callable[[bytes], bytes]
"""Returns the signature of a message."""

Verify = Callable[[bytes, bytes], bool]
"""Returns whether a message has a signature."""


class Verified(NamedTuple, Generic[_Claims]):
    """Claims that were verified; they are valid from ``begins`` to ``ends``, in seconds since the epoch.

    ``ends`` is the expiry of the token or of its key.
    """

    claims: _Claims
    begins: float
    ends: float


class _Header(Struct, forbid_unknown_fields=True):
    """The header of a token; no other member is allowed, since it could change how the token is read."""

    alg: str
    typ: Literal["JWT"] = "JWT"
    kid: Annotated[str, Meta(max_length=64)] | UnsetType = UNSET  # ours have 43 characters


class Verifying(NamedTuple):
    """A key, and its function."""

    key: VerifyingKey
    verify: Verify


class Accepted(NamedTuple):
    """Conditions on accepted tokens: algorithm, issuer and audience; ``leeway`` in seconds."""

    algorithm: str
    issuer: str
    audience: str
    leeway: float


class TokenVerifier:
    """Verifies access, refresh, client and delegated tokens; one is never accepted as another."""

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
        self._verifying = tuple(Verifying(key, verifying(self._algorithm, key.key)) for key in keys)
        self._own = {self._header("JWT", each.key.kid): each for each in self._verifying}

    def verify(self, token: str, *kinds: type[_Claims]) -> Verified[_Claims]:
        """Return the claims of a token of one of ``kinds``, and when they are valid.

        Raises ``TokenInvalid``, ``TokenExpired``, and ``Unavailable`` while the restore epoch is not known. A
        restore has ended the tokens of another epoch: ``RefreshRequired`` for an access token,
        ``RefreshRejected`` (``ended``) for a refresh token, and ``TokenInvalid`` for a client or delegated
        token, which has no session. Raises ``RefreshRequired`` also for a token, other than a refresh token,
        issued later than now: the session store's clock was set.
        """
        try:
            key, payload = signed_payload(token, self._key_of)
            # The union of all kinds requires a ``typ``; one kind alone does not.
            claims = msgspec.convert(strict_json(payload), Claims)
        except (ValueError, JoseError):  # msgspec's ValidationError is a ValueError
            raise TokenInvalid from None
        if not isinstance(claims, kinds):
            raise TokenInvalid
        self._check_claims(claims)
        return Verified(claims, claims.iat - self._accepted.leeway, min(claims.exp, key.until))

    def _header(self, kind: str, kid: str) -> str:
        """Return the first part of a token that the key ``kid`` signs; ``kind`` is its ``typ``."""
        return encoded(msgspec.json.encode({"alg": self._accepted.algorithm, "kid": kid, "typ": kind}))

    def _require_epoch(self) -> str:
        """Return the restore epoch of the database; raises ``Unavailable`` while it is not known."""
        if (name := self.restore_epoch.name) is None:
            raise Unavailable(sentence("database_unread"))
        return name

    def _key_of(self, part: str) -> Verifying:
        """Return the key that the header names, by the first part of a token; the first if it names none.

        A header written by this service is recognised; any other is read and checked. Raises ValueError.
        """
        known = self._own.get(part)
        if known is not None and self.now() < known.key.until:
            return known
        header = msgspec.convert(strict_json(decoded(part)), _Header)
        if header.alg != self._accepted.algorithm:
            raise ValueError("the header has another algorithm")
        if header.kid is UNSET:
            return self._verifying[0]
        for each in self._verifying:
            if each.key.kid == header.kid and self.now() < each.key.until:
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
        if claims.tl != self.restore_epoch.name:
            self._require_epoch()
            if isinstance(claims, ClientClaims | DelegatedClaims):
                raise TokenInvalid
            raise RefreshRequired if isinstance(claims, AccessClaims) else RefreshRejected(reason="ended")
        if claims.iat > soon and not isinstance(claims, RefreshClaims):
            raise RefreshRequired


def public_key(jwk: Mapping[str, Any]) -> VerifyingKey:
    """Return a public key of a published set (RFC 7517); ValueError for a shared key or none."""
    key = JWKRegistry.import_key(dict(jwk))
    if jwk.get("kty") == "oct" or key.is_private or not isinstance(jwk.get("kid"), str):
        raise ValueError("not a public key")
    return VerifyingKey(jwk["kid"], key, inf, jwk)


def signed_payload(token: str, key_of: Callable[[str], Verifying]) -> tuple[VerifyingKey, bytes]:
    """Return the payload of a token, and the key that has signed it; ``key_of`` finds it by the first part.

    Raises ValueError or JoseError for another form, key or signature, and the errors of ``key_of``.
    """
    if len(token) > MAX_LENGTH or (form := _FORM.fullmatch(token)) is None:
        raise ValueError("not three parts of base64url")
    header, payload, signature = form.groups()
    key, verify = key_of(header)
    if not verify(f"{header}.{payload}".encode("ascii"), decoded(signature)):
        raise ValueError("the signature does not match the key")
    return key, decoded(payload)


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
