"""A passkey provider in Python: makes the answers of a browser and its authenticator (WebAuthn Level 3).

Tests change single parts of an answer, which no browser would do.
"""

import base64
import hashlib
import json
import secrets
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.hazmat.primitives.hashes import SHA256
from fido2 import cbor

Algorithm = Literal["ES256", "EdDSA", "RS256"]

UP, UV, BE, BS, AT = 0x01, 0x04, 0x08, 0x10, 0x40
_NUMBERS: Final[Mapping[Algorithm, int]] = {"ES256": -7, "EdDSA": -8, "RS256": -257}


def text_of(data: bytes) -> str:
    """Return bytes as WebAuthn writes them in JSON: base64url without padding."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def bytes_of(text: str) -> bytes:
    """Return the bytes that ``text_of`` wrote."""
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


@dataclass
class Passkey:
    """A passkey of ``rp_id`` with its private key; ``counter`` 0 stays 0, as synchronized passkeys do."""

    rp_id: str
    origin: str
    algorithm: Algorithm = "ES256"
    flags: int = UP | UV
    counter: int = 0
    user_handle: bytes = b""
    id: bytes = field(default_factory=lambda: secrets.token_bytes(32))

    def __post_init__(self) -> None:
        self.key = _new_key(self.algorithm)

    def register(
        self, options: Mapping[str, Any], attestation: Literal["none", "packed"] = "none", **other: Any
    ) -> dict[str, Any]:
        """Return the ``RegistrationResponseJSON`` for creation options; ``other`` changes the client data."""
        self.user_handle = bytes_of(options["user"]["id"])
        client = self._client_data("webauthn.create", options["challenge"], other)
        attested = bytes(16) + struct.pack(">H", len(self.id)) + self.id + cbor.encode(cose_key(self.key))
        data = self._data(self.flags | AT) + attested
        statement: dict[str, Any] = {}
        if attestation == "packed":  # self attestation
            signature = self._sign(data + hashlib.sha256(client).digest())
            statement = {"alg": _NUMBERS[self.algorithm], "sig": signature}
        whole = cbor.encode({"fmt": attestation, "attStmt": statement, "authData": data})
        response = {"attestationObject": text_of(whole), "transports": ["internal", "hybrid"]}
        return self._answer(client, response)

    def sign_in(
        self, options: Mapping[str, Any], user_handle: bytes | None = None, **other: Any
    ) -> dict[str, Any]:
        """Return the ``AuthenticationResponseJSON`` for request options; ``other`` as for ``register``."""
        if self.counter:
            self.counter += 1
        client = self._client_data("webauthn.get", options["challenge"], other)
        data = self._data(self.flags)
        response = {
            "authenticatorData": text_of(data),
            "signature": text_of(self._sign(data + hashlib.sha256(client).digest())),
            "userHandle": text_of(self.user_handle if user_handle is None else user_handle),
        }
        return self._answer(client, response)

    def _client_data(self, kind: str, challenge: str, other: Mapping[str, Any]) -> bytes:
        members = {"type": kind, "challenge": challenge, "origin": self.origin, "crossOrigin": False}
        return json.dumps({**members, **other}).encode()

    def _data(self, flags: int) -> bytes:
        return hashlib.sha256(self.rp_id.encode()).digest() + struct.pack(">BI", flags, self.counter)

    def _answer(self, client: bytes, response: dict[str, Any]) -> dict[str, Any]:
        return {
            "id": text_of(self.id),
            "rawId": text_of(self.id),
            "type": "public-key",
            "authenticatorAttachment": "platform",
            "clientExtensionResults": {},
            "response": {"clientDataJSON": text_of(client), **response},
        }

    def _sign(self, data: bytes) -> bytes:
        match self.key:
            case ec.EllipticCurvePrivateKey():
                return self.key.sign(data, ec.ECDSA(SHA256()))
            case rsa.RSAPrivateKey():
                return self.key.sign(data, padding.PKCS1v15(), SHA256())
            case _:
                return self.key.sign(data)


_Key = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey | ed25519.Ed25519PrivateKey


def _new_key(algorithm: Algorithm) -> _Key:
    match algorithm:
        case "ES256":
            return ec.generate_private_key(ec.SECP256R1())
        case "EdDSA":
            return ed25519.Ed25519PrivateKey.generate()
        case "RS256":
            return rsa.generate_private_key(65537, 2048)


def cose_key(key: _Key) -> dict[int, Any]:
    """Return the public key as COSE has it (RFC 9053 §7)."""
    match key:
        case ec.EllipticCurvePrivateKey():
            point = key.public_key().public_numbers()
            return {1: 2, 3: -7, -1: 1, -2: point.x.to_bytes(32), -3: point.y.to_bytes(32)}
        case rsa.RSAPrivateKey():
            numbers = key.public_key().public_numbers()
            return {1: 3, 3: -257, -1: numbers.n.to_bytes(256), -2: numbers.e.to_bytes(3)}
        case _:
            return {1: 1, 3: -8, -1: 6, -2: key.public_key().public_bytes_raw()}
