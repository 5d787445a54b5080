"""Verifies JWTs of providers with a closed list of algorithms and the provider's matching public keys.

The header of a token only selects among these. So no forgeable token is accepted: neither ``none``, nor a MAC
with the public key (RFC 8725 §2.1).
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple

from joserfc.errors import JoseError
from joserfc.jwk import ECKey, Key, OKPKey, RSAKey
from joserfc.jws import JWSRegistry

from service.kernel.base64url import decoded
from service.kernel.strict_json import strict_object

MAX_TOKEN: Final = 64 * 1024
"""The maximum length of a token; a list of many groups makes it long."""
MOST_KEYS: Final = 100
LEAST_RSA_BITS: Final = 2048
_FORM: Final = re.compile(r"([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)")
_LONGEST_HEADER: Final = 4096

_FITTING: Final[Mapping[str, tuple[str, str | None]]] = {
    **dict.fromkeys(("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"), ("RSA", None)),
    "ES256": ("EC", "P-256"),
    "ES384": ("EC", "P-384"),
    "ES512": ("EC", "P-521"),
    "EdDSA": ("OKP", "Ed25519"),
}
"""The type and curve of the keys of each algorithm."""
ALGORITHMS: Final = frozenset(_FITTING)
_IMPORTS: Final[Mapping[str, Callable[..., Any]]] = {
    "RSA": RSAKey.import_key,
    "EC": ECKey.import_key,
    "OKP": OKPKey.import_key,
}


class Untrusted(Exception):  # noqa: N818 - it says what the token is
    """A token is not trusted; the text is the reason, without content of the token."""


class UnknownKey(Untrusted):
    """No key of the provider matches; the provider may have new keys."""


class PublicKey(NamedTuple):
    """A public key of a provider, with the use that the provider declares."""

    kid: str | None
    kind: str
    curve: str | None
    algorithm: str | None
    key: Key


def keys_of(document: Mapping[str, object]) -> tuple[PublicKey, ...]:
    """Return the verification keys of a JWK Set; other keys, such as shared ones, are skipped."""
    listed = document.get("keys")
    if not isinstance(listed, list):
        raise Untrusted("no JWK Set")
    return tuple(key for each in listed[:MOST_KEYS] if (key := _public(each)) is not None)


def _public(jwk: object) -> PublicKey | None:
    if not isinstance(jwk, dict) or jwk.get("use", "sig") != "sig":
        return None
    kid = jwk.get("kid")
    algorithm, curve = jwk.get("alg"), jwk.get("crv")
    kind = jwk.get("kty")
    if "d" in jwk or not isinstance(kind, str) or kind not in _IMPORTS:
        return None
    if not all(part is None or isinstance(part, str) for part in (kid, algorithm, curve)):
        return None
    wanted_members = {"kty", "n", "e", "crv", "x", "y"}
    try:
        key = _IMPORTS[kind]({name: value for name, value in jwk.items() if name in wanted_members})
        if kind == "RSA" and key.public_key.key_size < LEAST_RSA_BITS:
            return None
    except (ValueError, TypeError, KeyError, JoseError):
        return None
    return PublicKey(kid, kind, curve, algorithm, key)


class Signed(NamedTuple):
    """A JWT in its parts, with an unverified signature."""

    header: Mapping[str, object]
    text: bytes
    signature: bytes
    payload: str


def parsed(token: str, types: Iterable[str]) -> Signed:
    """Return the parts of a token; raises ``Untrusted`` unless its header names one of ``types``, or none."""
    form = _FORM.fullmatch(token) if len(token) <= MAX_TOKEN else None
    if form is None or len(form[1]) > _LONGEST_HEADER:
        raise Untrusted("no compact JWS")
    try:
        header = strict_object(decoded(form[1]))
        signature = decoded(form[3])
    except ValueError:
        raise Untrusted("malformed") from None
    if not isinstance(header.get("alg"), str) or header["alg"] not in ALGORITHMS:
        raise Untrusted("an algorithm that is not accepted")
    if "crit" in header or str(header.get("typ", "")).lower() not in ("", *types):
        raise Untrusted("another type of token")
    return Signed(header, f"{form[1]}.{form[2]}".encode("ascii"), signature, form[2])


def claims_of(signed: Signed, keys: Iterable[PublicKey], accepted: frozenset[str]) -> dict[str, object]:
    """Return the claims of a token signed by one of ``keys`` with one of the ``accepted`` algorithms.

    Raises ``UnknownKey``, and ``Untrusted`` for a wrong signature. Without a ``kid``, exactly one key must
    match.
    """
    algorithm = str(signed.header["alg"])
    if algorithm not in accepted:
        raise Untrusted("an algorithm that the provider does not announce")
    kind, curve = _FITTING[algorithm]
    kid = signed.header.get("kid")
    fitting = [
        each
        for each in keys
        if (each.kind, each.algorithm or algorithm) == (kind, algorithm)
        and (curve is None or each.curve == curve)
        and (kid is None or each.kid == kid)
    ]
    if len(fitting) != 1:
        raise UnknownKey("no key, or several")
    model = JWSRegistry.algorithms[algorithm]
    try:
        if not model.verify(signed.text, signed.signature, fitting[0].key):
            raise Untrusted("a wrong signature")
        return strict_object(decoded(signed.payload))
    except (ValueError, JoseError):
        raise Untrusted("a wrong signature, or no claims") from None
