"""The keys that sign and verify tokens, checked once at the start."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import (
    SECP256R1,
    SECP384R1,
    EllipticCurve,
    EllipticCurvePrivateKey,
    EllipticCurvePublicKey,
)
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, RSAPublicKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
    load_pem_public_key,
)
from joserfc.jwk import ECKey, Key, OctKey, OKPKey, RSAKey

from service.settings import Auth, Fault, SettingsError, check_secret

RSA_BITS = 2048
_CURVES: dict[str, type[EllipticCurve]] = {"ES256": SECP256R1, "ES384": SECP384R1}
_Private = RSAPrivateKey | EllipticCurvePrivateKey | Ed25519PrivateKey


class SigningKeys(NamedTuple):
    """The key that signs and the one that verifies; the same one for the HS algorithms."""

    signs: Key
    verifies: Key


def signing_keys(settings: Auth) -> SigningKeys:
    """Return the keys of the configured algorithm; raises ``SettingsError`` with what is wrong."""
    if settings.jwt_algorithm.startswith("HS"):
        return _shared_key(settings)
    private = _read_private(settings.jwt_private_key)
    public = _read("jwt_public_key", settings.jwt_public_key, load_pem_public_key)
    if complaint := _complaint(settings.jwt_algorithm, private):
        raise _fault("jwt_private_key", complaint)
    # Comparing the public keys compares type, curve and numbers.
    if private.public_key() != public:  # type: ignore[attr-defined]  # its class was checked
        raise _fault("jwt_public_key", "is not the public key of auth.jwt_private_key")
    return SigningKeys(_joserfc_key(private), _joserfc_key(public))


def derived_key(settings: Auth, purpose: bytes) -> bytes:
    """Return 32 bytes for ``purpose``, derived from the signing key (HKDF, RFC 5869).

    All workers and nodes with the signing key get the same bytes; neither key reveals the other.
    """
    if settings.jwt_algorithm.startswith("HS"):
        root = settings.jwt_secret.encode()
    else:
        key = _read_private(settings.jwt_private_key)
        # Every class of private keys has it.
        root = key.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())  # type: ignore[attr-defined]  # above
    return HKDF(SHA256(), 32, salt=None, info=b"portcullis " + purpose).derive(root)


def _shared_key(settings: Auth) -> SigningKeys:
    if complaint := check_secret(settings.jwt_algorithm, settings.jwt_secret):
        raise _fault("jwt_secret", complaint)
    try:
        key = OctKey.import_key(settings.jwt_secret.encode())
    except ValueError:  # joserfc: the text is an asymmetric public key, which may be known to everybody
        raise _fault("jwt_secret", "must not be a public key or a certificate") from None
    return SigningKeys(key, key)


def _read_private(path: Path | None) -> object:
    """Return the private key; raises ``SettingsError``, also for a file that others may read or write.

    If root owns the file and the service is not root, its group may read it: the service could not otherwise.
    """
    try:
        found = path.stat() if path else None
    except OSError as error:
        raise _fault("jwt_private_key", f"can't be read: {error.strerror}") from None
    if found:
        of_root = found.st_uid == 0 != os.geteuid()
        if found.st_mode & (0o037 if of_root else 0o077):
            raise _fault(
                "jwt_private_key", f"is open to other users: chmod 600 {path}, or make a new pair of keys"
            )
    return _read("jwt_private_key", path, lambda pem: load_pem_private_key(pem, None))


def _read(name: str, path: Path | None, load: Callable[[bytes], object]) -> object:
    if path is None:
        raise _fault(name, "is missing")
    try:
        return load(path.read_bytes())
    except OSError as error:
        raise _fault(name, f"can't be read: {error.strerror}") from None
    except (ValueError, TypeError, UnsupportedAlgorithm):  # TypeError: it is encrypted
        raise _fault(name, "is not a PEM file of such a key without a password") from None


def _complaint(algorithm: str, key: object) -> str | None:
    """Return why ``key`` can't sign with ``algorithm``; None if it can."""
    if algorithm == "EdDSA":
        return None if isinstance(key, Ed25519PrivateKey) else "must be an Ed25519 key for EdDSA"
    if algorithm in _CURVES:
        curve = _CURVES[algorithm]
        fits = isinstance(key, EllipticCurvePrivateKey) and isinstance(key.curve, curve)
        return None if fits else f"must be an EC key on {curve.name} for {algorithm}"
    if not isinstance(key, RSAPrivateKey):
        return f"must be an RSA key for {algorithm}"
    return None if key.key_size >= RSA_BITS else f"must have at least {RSA_BITS} bits"


def _joserfc_key(key: object) -> Key:
    if isinstance(key, RSAPrivateKey | RSAPublicKey):
        return RSAKey.import_key(key)
    if isinstance(key, EllipticCurvePrivateKey | EllipticCurvePublicKey):
        return ECKey.import_key(key)
    if isinstance(key, Ed25519PrivateKey | Ed25519PublicKey):
        return OKPKey.import_key(key)
    raise TypeError(type(key).__name__)


def _fault(name: str, message: str) -> SettingsError:
    return SettingsError([Fault(f"auth.{name}", message)])
