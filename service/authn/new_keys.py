"""New pairs of signing keys."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from service.authn.signing_keys import CURVES, kid_of

_NEW_RSA_BITS: Final = 3072  # NIST SP 800-57 part 1: as strong as the other algorithms
_RSA_EXPONENT: Final = 65537


class Pair(NamedTuple):
    """A pair of keys as PEM, and the ``kid`` of its tokens."""

    private: bytes
    public: bytes
    kid: str


def new_pair(algorithm: str) -> Pair:
    """Return a new pair of keys for ``algorithm``, one of the RS, ES and EdDSA algorithms."""
    key = _new_key(algorithm)
    public = key.public_key()
    return Pair(
        key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()),
        public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo),
        kid_of(public),
    )


def _new_key(algorithm: str) -> Any:
    if algorithm == "EdDSA":
        return Ed25519PrivateKey.generate()
    if algorithm in CURVES:
        return ec.generate_private_key(CURVES[algorithm]())
    return rsa.generate_private_key(_RSA_EXPONENT, _NEW_RSA_BITS)
