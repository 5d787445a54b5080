"""The keys that sign and verify tokens, checked once at the start; and new pairs of them."""

from collections.abc import Callable, Mapping
from math import inf
from pathlib import Path
from typing import Any, Final, NamedTuple

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec, rsa
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
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
)
from joserfc.jwk import ECKey, Key, OctKey, OKPKey, RSAKey

from service.kernel.base64url import encoded
from service.settings import Auth, Fault, SettingsError, check_secret
from service.settings.secrecy import is_open_to_others

RSA_BITS = 2048
CURVES: dict[str, type[EllipticCurve]] = {"ES256": SECP256R1, "ES384": SECP384R1}
"""The curves of the EC algorithms (RFC 7518 §3.4)."""


class VerifyingKey(NamedTuple):
    """A key that verifies tokens, with its expiry: ``until`` is in seconds since the epoch, or infinity.

    ``public`` is the key as a JWK (RFC 7517), None for a shared key.
    """

    kid: str
    key: Key
    until: float
    public: Mapping[str, Any] | None


class SigningKeys(NamedTuple):
    """The key that signs, and those that verify: the current one first, then the previous one if there is."""

    signs: Key
    accepted: tuple[VerifyingKey, ...]

    @property
    def kid(self) -> str:
        """The id of the key that signs."""
        return self.accepted[0].kid


class DerivedKey(NamedTuple):
    """A key made from a signing key, and until when that is accepted, in seconds since the epoch."""

    key: bytes
    until: float


def signing_keys(settings: Auth) -> SigningKeys:
    """Return the keys of the configured algorithm; raises ``SettingsError`` with the fault."""
    algorithm = settings.jwt_algorithm
    if algorithm.startswith("HS"):
        signs = _shared_key(algorithm, "jwt_secret", settings.jwt_secret)
        accepted = [_shared_verifying(signs, settings.jwt_secret, inf)]
        if secret := settings.jwt_previous_secret:
            key = _shared_key(algorithm, "jwt_previous_secret", secret)
            accepted.append(_shared_verifying(key, secret, _previous_until(settings)))
        return SigningKeys(signs, tuple(accepted))
    private = _fitting(algorithm, "jwt_private_key", settings.jwt_private_key)
    public = _read("jwt_public_key", settings.jwt_public_key, load_pem_public_key)
    # Comparing the public keys compares type, curve and numbers.
    if private.public_key() != public:
        raise _fault("jwt_public_key", "does not match auth.jwt_private_key")
    accepted = [_verifying(algorithm, public, inf)]
    if settings.jwt_previous_private_key:
        previous = _fitting(algorithm, "jwt_previous_private_key", settings.jwt_previous_private_key)
        if previous.public_key() == public:
            raise _fault("jwt_previous_private_key", "is auth.jwt_private_key itself")
        accepted.append(_verifying(algorithm, previous.public_key(), _previous_until(settings)))
    return SigningKeys(_joserfc_key(private), tuple(accepted))


def derived_keys(settings: Auth, purpose: bytes) -> tuple[DerivedKey, ...]:
    """Return 32 bytes for ``purpose`` from the current signing key, then from the previous one if there is.

    They are derived by HKDF (RFC 5869). All workers and nodes with a signing key get the same bytes; neither
    key reveals the other. Raises ``SettingsError`` for a key file that can't be read.
    """
    if settings.jwt_algorithm.startswith("HS"):
        roots = [settings.jwt_secret.encode()]
        if settings.jwt_previous_secret:
            roots.append(settings.jwt_previous_secret.encode())
    else:
        roots = [_der("jwt_private_key", settings.jwt_private_key)]
        if settings.jwt_previous_private_key:
            roots.append(_der("jwt_previous_private_key", settings.jwt_previous_private_key))
    ends = (inf, _previous_until(settings))
    return tuple(DerivedKey(_hkdf(root, purpose), until) for root, until in zip(roots, ends, strict=False))


def _previous_until(settings: Auth) -> float:
    """Return the expiry of the previous key; at once if no setting has it."""
    return settings.jwt_previous_until.timestamp() if settings.jwt_previous_until else 0.0


def _hkdf(root: bytes, purpose: bytes) -> bytes:
    return HKDF(SHA256(), 32, salt=None, info=b"portcullis " + purpose).derive(root)


def _der(name: str, path: Path | None) -> bytes:
    key = _read_private(name, path)
    # Every class of private keys has it.
    der: bytes = key.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())
    return der


def _shared_key(algorithm: str, name: str, secret: str) -> OctKey:
    if complaint := check_secret(algorithm, secret):
        raise _fault(name, complaint)
    try:
        return OctKey.import_key(secret.encode())
    except ValueError:  # joserfc: the text is an asymmetric public key, which may be public knowledge
        raise _fault(name, "must not be a public key or a certificate") from None


def _shared_verifying(key: Key, secret: str, until: float) -> VerifyingKey:
    # Not the thumbprint: that is a plain hash of the secret (RFC 7638 §7).
    kid = encoded(_hkdf(secret.encode(), b"kid"))
    return VerifyingKey(kid, key, until, None)


def _verifying(algorithm: str, public: object, until: float) -> VerifyingKey:
    key = _joserfc_key(public)
    kid = kid_of(public)
    jwk = {**key.as_dict(private=False), "kid": kid, "use": "sig", "alg": algorithm}
    return VerifyingKey(kid, key, until, jwk)


def kid_of(public: object) -> str:
    """Return the ``kid`` of an asymmetric public key: its thumbprint (RFC 7638)."""
    return _joserfc_key(public).thumbprint()


def _fitting(algorithm: str, name: str, path: Path | None) -> Any:
    private = _read_private(name, path)
    if complaint := _complaint(algorithm, private):
        raise _fault(name, complaint)
    return private


def _read_private(name: str, path: Path | None) -> Any:
    """Return the private key of the setting ``name``.

    Raises ``SettingsError``, also for a file that others may read or write.
    """
    try:
        file_status = path.stat() if path else None
    except OSError as error:
        raise _fault(name, f"can't be read: {error.strerror}") from None
    if file_status and is_open_to_others(file_status):
        raise _fault(name, f"is readable by other users: run chmod 600 {path}, or create a new key pair")
    return _read(name, path, lambda pem: load_pem_private_key(pem, None))


def _read(name: str, path: Path | None, load: Callable[[bytes], Any]) -> Any:
    if path is None:
        raise _fault(name, "is missing")
    try:
        return load(path.read_bytes())
    except OSError as error:
        raise _fault(name, f"can't be read: {error.strerror}") from None
    except (ValueError, TypeError, UnsupportedAlgorithm):  # TypeError: it is encrypted
        raise _fault(name, "is not a PEM file with an unencrypted key of this type") from None


def _complaint(algorithm: str, key: object) -> str | None:
    """Return why ``key`` can't sign with ``algorithm``; None if it can."""
    if algorithm == "EdDSA":
        return None if isinstance(key, Ed25519PrivateKey) else "must be an Ed25519 key for EdDSA"
    if algorithm in CURVES:
        curve = CURVES[algorithm]
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
