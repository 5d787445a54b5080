"""Key files are checked at start, with the name of the setting that is wrong."""

import os
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, PrivateFormat

from service.authn.signing_keys import derived_keys, signing_keys
from service.settings import Auth, SettingsError
from tests.authn.conftest import SECRET
from tests.authn.keys import KIND_OF, key, next_key, private_pem, public_pem, settings_for, settings_with
from tests.support.cases import with_each


def complaint(settings: Auth) -> str:
    with pytest.raises(SettingsError) as raised:
        signing_keys(settings)
    (fault,) = raised.value.faults
    return f"{fault.name} {fault.message}"


@with_each("algorithm", ["HS256", "HS384", "HS512", *KIND_OF])
def test_keys_that_fit_their_algorithm_are_taken(algorithm: str, tmp_path: Path) -> None:
    assert signing_keys(settings_for(tmp_path, algorithm, SECRET)).signs


@with_each(
    ("algorithm", "kind"),
    [
        ("RS256", "P-256"),
        ("RS256", "Ed25519"),
        ("RS512", "RSA-1024"),
        ("ES256", "P-384"),
        ("ES256", "secp256k1"),
        ("ES256", "RSA"),
        ("ES384", "P-256"),
        ("EdDSA", "Ed448"),
        ("EdDSA", "P-256"),
        ("EdDSA", "RSA"),
    ],
)
def test_a_key_of_another_kind_or_size_is_refused_by_name(algorithm: str, kind: str, tmp_path: Path) -> None:
    settings = settings_with(tmp_path, algorithm, private_pem(key(kind)), public_pem(key(kind)))

    assert complaint(settings).startswith("auth.jwt_private_key must ")


@pytest.mark.parametrize("algorithm", ["RS256", "ES256", "EdDSA"])
def test_a_public_key_of_another_private_key_is_refused(algorithm: str, tmp_path: Path) -> None:
    kind = KIND_OF[algorithm]
    settings = settings_with(tmp_path, algorithm, private_pem(key(kind)), public_pem(next_key(kind)))

    assert complaint(settings) == "auth.jwt_public_key does not match auth.jwt_private_key"


def test_a_private_key_in_place_of_the_public_one_is_refused(tmp_path: Path) -> None:
    pem = private_pem(key("P-256"))

    message = complaint(settings_with(tmp_path, "ES256", pem, pem))
    assert message.startswith("auth.jwt_public_key is not a PEM")


@pytest.mark.parametrize(
    "pem", [b"", b"not a key", b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----"]
)
def test_a_file_that_is_no_key_is_refused(pem: bytes, tmp_path: Path) -> None:
    settings = settings_with(tmp_path, "ES256", pem, public_pem(key("P-256")))

    assert complaint(settings).startswith("auth.jwt_private_key is not a PEM file")


def test_an_encrypted_key_is_refused(tmp_path: Path) -> None:
    pem = key("P-256").private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"secret"))

    assert "an unencrypted key" in complaint(settings_with(tmp_path, "ES256", pem, public_pem(key("P-256"))))


def test_a_file_that_is_missing_is_refused_by_name(tmp_path: Path) -> None:
    missing = tmp_path / "none.pem"
    settings = Auth(jwt_algorithm="ES256", jwt_private_key=missing, jwt_public_key=missing)

    assert complaint(settings) == "auth.jwt_private_key can't be read: No such file or directory"


def test_a_secret_shorter_than_the_hash_is_refused_without_being_shown() -> None:
    message = complaint(Auth(jwt_algorithm="HS512", jwt_secret=SECRET[:40]))

    assert message.startswith("auth.jwt_secret ")
    assert SECRET[:10] not in message


def test_a_public_key_is_no_shared_secret() -> None:
    pem = public_pem(key("RSA")).decode()

    assert complaint(Auth(jwt_secret=pem)) == "auth.jwt_secret must not be a public key or a certificate"


@with_each("mode", [0o640, 0o604, 0o620, 0o602, 0o644])
def test_a_private_key_that_others_may_read_or_write_is_refused(tmp_path: Path, mode: int) -> None:
    settings = settings_for(tmp_path, "ES256", SECRET)
    (tmp_path / "private.pem").chmod(mode)

    assert complaint(settings).startswith("auth.jwt_private_key is readable by other users")
    with pytest.raises(SettingsError, match="readable by other users"):
        derived_keys(settings, b"test")


@pytest.mark.parametrize(("mode", "taken"), [(0o440, True), (0o640, True), (0o660, False), (0o444, False)])
def test_a_group_may_read_a_private_key_of_root_where_the_service_is_not_root(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: int, taken: bool
) -> None:
    settings = settings_for(tmp_path, "ES256", SECRET)
    private = tmp_path / "private.pem"
    private.chmod(mode)
    if os.geteuid() != 0:
        pytest.skip("the file must be root's")
    monkeypatch.setattr("service.settings.secrecy.os.geteuid", lambda: 1000)

    if taken:
        assert signing_keys(settings).signs
    else:
        assert "readable by other users" in complaint(settings)
