"""Key files, and tokens made by hand: any header, any payload, signed or not."""

import base64
import hashlib
import hmac
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from service.authn.claims import AccessClaims
from service.authn.tokens import Tokens
from service.settings import Auth

MAKERS: dict[str, Callable[[], Any]] = {
    "RSA": lambda: rsa.generate_private_key(65537, 2048),
    "RSA-1024": lambda: rsa.generate_private_key(65537, 1024),
    "P-256": lambda: ec.generate_private_key(ec.SECP256R1()),
    "P-384": lambda: ec.generate_private_key(ec.SECP384R1()),
    "secp256k1": lambda: ec.generate_private_key(ec.SECP256K1()),
    "Ed25519": ed25519.Ed25519PrivateKey.generate,
    "Ed448": ed448.Ed448PrivateKey.generate,
}
KIND_OF = {
    "RS256": "RSA",
    "RS384": "RSA",
    "RS512": "RSA",
    "ES256": "P-256",
    "ES384": "P-384",
    "EdDSA": "Ed25519",
}


@cache
def key(kind: str) -> Any:
    """Return the test run's one key of this kind; RSA keys are slow to make."""
    return MAKERS[kind]()


@cache
def next_key(kind: str) -> Any:
    """Return the test run's one key of this kind that follows ``key``."""
    return MAKERS[kind]()


def private_pem(private: Any) -> bytes:
    pem: bytes = private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return pem


def public_pem(private: Any) -> bytes:
    pem: bytes = private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    return pem


def settings_with(folder: Path, algorithm: Any, private: bytes, public: bytes) -> Auth:
    (folder / "private.pem").write_bytes(private)
    (folder / "private.pem").chmod(0o600)
    (folder / "public.pem").write_bytes(public)
    return Auth(
        jwt_algorithm=algorithm, jwt_private_key=folder / "private.pem", jwt_public_key=folder / "public.pem"
    )


def settings_for(folder: Path, algorithm: str, secret: str) -> Auth:
    """Return settings of an algorithm with keys that fit."""
    if algorithm.startswith("HS"):
        return Auth(jwt_algorithm=algorithm, jwt_secret=secret)  # type: ignore[arg-type]  # a parameter
    private = key(KIND_OF[algorithm])
    return settings_with(folder, algorithm, private_pem(private), public_pem(private))


def b64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def unb64(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def as_json(value: Any) -> bytes:
    return value if isinstance(value, bytes) else json.dumps(value).encode()


def hs256(header: Any, payload: Any, secret: str) -> str:
    """Return a token whose HMAC is right, whatever its header and payload are (values or raw JSON)."""
    signed = f"{b64(as_json(header))}.{b64(as_json(payload))}"
    return f"{signed}.{b64(hmac.digest(secret.encode(), signed.encode(), hashlib.sha256))}"


def es256_raw(header: Any, payload: Any, private: Any) -> tuple[str, int, int]:
    """Return the signed part, and r and s of its signature."""
    signed = f"{b64(as_json(header))}.{b64(as_json(payload))}"
    r, s = decode_dss_signature(private.sign(signed.encode(), ec.ECDSA(hashes.SHA256())))
    return signed, r, s


def rs256(header: Any, payload: Any, private: Any) -> str:
    signed = f"{b64(as_json(header))}.{b64(as_json(payload))}"
    return f"{signed}.{b64(private.sign(signed.encode(), padding.PKCS1v15(), hashes.SHA256()))}"


def verify_access(tokens: Tokens, token: str) -> AccessClaims:
    """Return the claims of an access token, or raise its refusal."""
    return tokens.verify(token, AccessClaims).claims
