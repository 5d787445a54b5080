"""Passkeys: registrations and assertions of WebAuthn Level 3, verified with the library ``fido2``.

This module adds checks that the library lacks: the algorithm, frames of other origins (§13.4.9), the backup
flags (§6.1.3), and that the named credential gave the answer. The counter (§6.1.1) is compared where it is
stored. Attestation is not requested: any authenticator that verifies its user is accepted.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, Final, Self
from urllib.parse import urlsplit

from cryptography.exceptions import InvalidSignature

from service.errors import Conflict
from service.features.second_factors.sentences import sentence
from service.features.second_factors.store import StoredPasskey
from service.kernel.about import NAME

if TYPE_CHECKING:
    from fido2.cose import CoseKey
    from fido2.server import Fido2Server
    from fido2.webauthn import AuthenticatorData, CollectedClientData

ALGORITHMS: Final = (-8, -7, -257)
"""EdDSA, ES256 and RS256 (RFC 9053 §2, RFC 8812 §2), the preferred one first."""
CHALLENGE_BYTES: Final = 32
MOST_ID_BYTES: Final = 1023
"""Bytes of a credential id (WebAuthn §4)."""
_RSA: Final = 3
_RSA_BITS: Final = 2048
_FORMS: Final[Mapping[int, tuple[int, int | None]]] = {-8: (1, 6), -7: (2, 1), -257: (_RSA, None)}
"""The type of key of each algorithm, and its curve: Ed25519, P-256, and RSA (RFC 9053 §7, RFC 8230 §4)."""
_TIMEOUT: Final = 300_000  # milliseconds
_TRANSPORTS: Final = frozenset({"usb", "nfc", "ble", "smart-card", "hybrid", "internal"})


class PasskeyRefusedError(ValueError):
    """The answer of the authenticator does not fit; the reason is for logs, not for callers."""


@dataclass(frozen=True, slots=True)
class NewPasskey:
    """A registered passkey with its first counter."""

    stored: StoredPasskey = field(repr=False)
    sign_count: int


def party_of(party: RelyingParty | None) -> RelyingParty:
    """Return the relying party; raise ``Conflict`` if there is none, so that passkeys are unavailable."""
    if party is None:
        raise Conflict(sentence("address_for_passkeys"), rule="missing_setting")
    return party


class RelyingParty:
    """This service for authenticators: the host of its public URL, and the only origin of its pages."""

    def __init__(self, public_url: str) -> None:
        parts = urlsplit(public_url)
        self.id = parts.hostname or ""
        self.origin = f"{parts.scheme}://{parts.netloc.lower()}"

    @classmethod
    def of(cls, public_url: str) -> Self | None:
        """Return the relying party of a public URL; None without a URL, and for an IP address."""
        host = urlsplit(public_url).hostname
        if not host:
            return None
        try:
            ip_address(host)
        except ValueError:
            return cls(public_url)
        return None

    def creation_options(
        self,
        challenge: bytes,
        *,
        user_handle: bytes,
        user_name: str,
        display_name: str,
        known: Iterable[StoredPasskey],
    ) -> dict[str, Any]:
        """Return the ``PublicKeyCredentialCreationOptionsJSON`` for a new passkey of a user.

        Authenticators with one of the ``known`` passkeys create no second one.
        """
        options, _state = self._library.register_begin(
            {"id": user_handle, "name": user_name, "displayName": display_name},  # type: ignore[arg-type]
            [_descriptor(passkey) for passkey in known],
            resident_key_requirement="required",  # type: ignore[arg-type]
            user_verification="required",  # type: ignore[arg-type]
            challenge=challenge,
        )
        return _as_json(options)

    def request_options(self, challenge: bytes, known: Collection[StoredPasskey] = ()) -> dict[str, Any]:
        """Return the ``PublicKeyCredentialRequestOptionsJSON`` for an assertion by one of the ``known`` ones.

        Without ``known``, the authenticator offers its passkeys for this service.
        """
        options, _state = self._library.authenticate_begin(
            [_descriptor(passkey) for passkey in known] or None,
            user_verification="required",  # type: ignore[arg-type]
            challenge=challenge,
        )
        return _as_json(options)

    def registered(
        self, credential: Mapping[str, Any], challenge: bytes, *, user_handle: bytes
    ) -> NewPasskey:
        """Return the passkey of a ``RegistrationResponseJSON`` to ``challenge``.

        Raises ``PasskeyRefusedError`` for any answer that does not fit.
        """
        from fido2.webauthn import RegistrationResponse  # noqa: PLC0415 - see _library

        with _Refusing():
            answer = RegistrationResponse.from_dict(credential)
            _require_id(credential, answer.raw_id)
            data = self._library.register_complete(_state_of(challenge), answer)
            _check_frame(answer.response.client_data)
            _check_flags(data)
            attested = data.credential_data
            if attested is None or attested.public_key.get(3) not in ALGORITHMS:
                raise PasskeyRefusedError("a key of another algorithm")
            _require_fit(attested.public_key)
            if attested.credential_id != answer.raw_id or len(answer.raw_id) > MOST_ID_BYTES:
                raise PasskeyRefusedError("another credential id")
            stored = StoredPasskey(
                credential_id=answer.raw_id,
                credential=bytes(attested),
                user_handle=user_handle,
                backup_eligible=data.is_backup_eligible(),
                transports=_transports(credential),
            )
            return NewPasskey(stored, data.counter)

    def asserted(
        self, credential: Mapping[str, Any], challenge: bytes, passkey: StoredPasskey, *, discovered: bool
    ) -> int:
        """Return the new counter after an ``AuthenticationResponseJSON`` of ``passkey`` to ``challenge``.

        ``discovered``: the user is unknown, so the answer must name the user. Raises ``PasskeyRefusedError``
        for any answer that does not fit.
        """
        from fido2.webauthn import AttestedCredentialData, AuthenticationResponse  # noqa: PLC0415

        with _Refusing():
            answer = AuthenticationResponse.from_dict(credential)
            _require_id(credential, answer.raw_id)
            known = AttestedCredentialData(passkey.credential)
            self._library.authenticate_complete(_state_of(challenge), [known], answer)
            _check_frame(answer.response.client_data)
            data = answer.response.authenticator_data
            _check_flags(data)
            if data.is_backup_eligible() != passkey.backup_eligible:
                raise PasskeyRefusedError("another eligibility for backups")
            handle = answer.response.user_handle
            if handle != passkey.user_handle and (handle or discovered):
                raise PasskeyRefusedError("the handle of another user")
            return data.counter

    @cached_property
    def _library(self) -> Fido2Server:
        # Loaded on first use: with its list of domains it takes 11 MB, and most workers handle no passkeys.
        from fido2.server import Fido2Server  # noqa: PLC0415
        from fido2.webauthn import PublicKeyCredentialRpEntity  # noqa: PLC0415

        server = Fido2Server(
            PublicKeyCredentialRpEntity(id=self.id, name=NAME),
            attestation="none",  # type: ignore[arg-type]
            verify_origin=lambda origin: origin == self.origin,
        )
        server.timeout = _TIMEOUT  # type: ignore[assignment]  # the library's gap
        by_number = {known.alg: known for known in server.allowed_algorithms}
        server.allowed_algorithms = [by_number[number] for number in ALGORITHMS]
        return server


def challenge_of(credential: Mapping[str, Any]) -> bytes | None:
    """Return the challenge in a JSON credential, for its look-up; None if it is unreadable."""
    from fido2.utils import websafe_decode  # noqa: PLC0415
    from fido2.webauthn import CollectedClientData  # noqa: PLC0415

    try:
        with _Refusing():
            return CollectedClientData(websafe_decode(credential["response"]["clientDataJSON"])).challenge
    except PasskeyRefusedError:
        return None


def id_of(credential: Mapping[str, Any]) -> bytes | None:
    """Return the id of the JSON credential of an assertion; None if it is unreadable."""
    from fido2.utils import websafe_decode  # noqa: PLC0415

    try:
        with _Refusing():
            return websafe_decode(credential["rawId"])
    except PasskeyRefusedError:
        return None


class _Refusing:
    """Turns any exception of the library about an answer into ``PasskeyRefusedError``.

    The library parses untrusted input, and raises the exceptions of its parsers: JSON, CBOR, COSE and
    structs.
    """

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, Exception) and not isinstance(error, PasskeyRefusedError):
            raise PasskeyRefusedError(f"{type(error).__name__}: {error}") from None


def _require_id(credential: Mapping[str, Any], raw_id: bytes) -> None:
    from fido2.utils import websafe_encode  # noqa: PLC0415

    if credential.get("id") != websafe_encode(raw_id) or credential.get("type") != "public-key":
        raise PasskeyRefusedError("no public key, or an id that is not its rawId")


def _check_frame(client_data: CollectedClientData) -> None:
    """Refuse an answer made in a frame of another origin: the user can't see the site that asks."""
    members = json.loads(client_data)
    if members.get("crossOrigin", False) is not False or "topOrigin" in members:
        raise PasskeyRefusedError("made in a page of another origin")


def _require_fit(key: CoseKey) -> None:
    """Refuse a key that does not match its algorithm or can't verify signatures."""
    kind, curve = _FORMS[key[3]]
    if key.get(1) != kind or (curve is not None and key.get(-1) != curve):
        raise PasskeyRefusedError("a key of another kind than its algorithm")
    if kind == _RSA and int.from_bytes(key[-1]).bit_length() < _RSA_BITS:
        raise PasskeyRefusedError("a key that is too short")
    with suppress(InvalidSignature):  # whatever else is raised: the key can't be read
        key.verify(b"", b"")


def _check_flags(data: AuthenticatorData) -> None:
    if data.is_backed_up() and not data.is_backup_eligible():
        raise PasskeyRefusedError("backed up without being eligible for it")


def _descriptor(passkey: StoredPasskey) -> Any:
    from fido2.webauthn import PublicKeyCredentialDescriptor  # noqa: PLC0415

    return PublicKeyCredentialDescriptor.from_dict(
        {"type": "public-key", "id": passkey.credential_id, "transports": list(passkey.transports) or None}
    )


def _transports(credential: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the transports, hints for later requests; unknown ones are dropped."""
    named = credential["response"].get("transports") or ()
    return tuple(sorted(_TRANSPORTS.intersection(name for name in named if isinstance(name, str))))


def _state_of(challenge: bytes) -> dict[str, Any]:
    """Return the state that the library expects from the creation of the options."""
    from fido2.utils import websafe_encode  # noqa: PLC0415

    return {"challenge": websafe_encode(challenge), "user_verification": "required"}


def _as_json(options: Any) -> dict[str, Any]:
    public_key: dict[str, Any] = json.loads(json.dumps(dict(options)))["publicKey"]
    return public_key
