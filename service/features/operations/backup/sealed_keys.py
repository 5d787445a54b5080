"""The keys of an installation, encrypted for an archive with a passphrase.

A JWE in compact form (RFC 7516) with PBES2-HS512+A256KW and A256GCM (RFC 7518 §4.8 and §5.3); any JOSE
program can open it.
"""

import os
import sys
from collections.abc import Mapping
from getpass import getpass
from pathlib import Path
from typing import Final

import msgspec
from joserfc import jwe
from joserfc.errors import JoseError
from joserfc.jwk import OctKey

from service.operator.errors import LaunchError, PasswordError
from service.settings import Settings

ENCRYPTION: Final = "JWE PBES2-HS512+A256KW A256GCM"
VARIABLE: Final = "PORTCULLIS_BACKUP_PASSPHRASE"
"""The environment variable with the passphrase, for scheduled backups."""

_SHORTEST: Final = 16
_ROUNDS: Final = 210_000  # of PBKDF2, as OWASP's Password Storage Cheat Sheet has for SHA-512
_ALGORITHMS: Final = ("PBES2-HS512+A256KW", "A256GCM")
_HEADER: Final = {"alg": _ALGORITHMS[0], "enc": _ALGORITHMS[1], "p2c": _ROUNDS}
_REGISTRY: Final = jwe.JWERegistry(algorithms=list(_ALGORITHMS))
_SECRETS: Final = ("jwt_secret", "jwt_previous_secret", "factor_key", "factor_previous_key")
_FILES: Final = ("jwt_private_key", "jwt_public_key", "jwt_previous_private_key")
_CHAIN_KEYS: Final = ("chain_key", "chain_previous_key")
_NAMES: Final = frozenset(
    {*(f"oplog.{name}" for name in _CHAIN_KEYS), *(f"auth.{name}" for name in _SECRETS + _FILES)}
)


class KeysError(LaunchError):
    """The keys can't be read, opened or written."""


def keys_of(settings: Settings) -> dict[str, str]:
    """Return the keys for signing, second factors and log chains, by the names of their settings.

    ``settings`` include the local secret, as those of ``reachable``. Raises ``KeysError`` for an unreadable
    file, and if the signing key is unknown: a backup must not omit keys silently.
    """
    keys = {f"auth.{name}": getattr(settings.auth, name) for name in _SECRETS}
    keys |= {f"oplog.{name}": getattr(settings.oplog, name) for name in _CHAIN_KEYS}
    for name in _FILES:
        path: Path | None = getattr(settings.auth, name)
        if path is not None:
            try:
                keys[f"auth.{name}"] = path.read_text("ascii")
            except (OSError, UnicodeDecodeError) as error:
                raise KeysError(f"{path} can't be read") from error
    kept = {name: value for name, value in keys.items() if value}
    signs = "auth.jwt_secret" if settings.auth.jwt_algorithm.startswith("HS") else "auth.jwt_private_key"
    if signs not in kept:
        raise KeysError(f"The signing key is unknown: {signs} is empty")
    return kept


def seal(keys: Mapping[str, str], passphrase: str) -> bytes:
    key = OctKey.import_key(passphrase)
    return jwe.encrypt_compact(_HEADER, msgspec.json.encode(keys), key, registry=_REGISTRY).encode()


def unseal(sealed: bytes, passphrase: str) -> dict[str, str]:
    """Return the keys in ``sealed``; raises ``KeysError`` for another passphrase and for invalid content."""
    try:
        opened = jwe.decrypt_compact(sealed, OctKey.import_key(passphrase), registry=_REGISTRY)
        return msgspec.json.decode(opened.plaintext or b"", type=dict[str, str])
    except (JoseError, ValueError):
        raise KeysError("The keys can't be decrypted: the passphrase is wrong") from None


def write_keys(keys: Mapping[str, str], folder: Path) -> list[Path]:
    """Write each key to a new file of mode 0600 in ``folder``; return the paths.

    Raises ``KeysError``, also for an unknown key name, since it would become a file name.
    """
    if unknown := sorted(keys.keys() - _NAMES):
        raise KeysError(f"The key {unknown[0]!r} does not exist")
    written = []
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for name, value in sorted(keys.items()):
            path = folder / (f"{name}.pem" if "-----BEGIN" in value else name)
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            with os.fdopen(handle, "w", encoding="ascii") as file:
                file.write(value if value.endswith("\n") else f"{value}\n")
            written.append(path)
    except OSError as error:
        raise KeysError(f"{error.filename} can't be written: {error.strerror}") from error
    return written


def asked_passphrase(file: Path | None, *, new: bool) -> str:
    """Return the passphrase: from ``file``, else ``VARIABLE``, else from the terminal or input.

    A ``new`` passphrase is asked for twice, and must have 16 characters. Raises ``PasswordError`` and
    ``KeysError``.
    """
    given = _given(file)
    if given is None:
        given = getpass("Passphrase: ") if sys.stdin.isatty() else sys.stdin.readline().rstrip("\n")
        if new and sys.stdin.isatty() and getpass("Once more: ") != given:
            raise PasswordError("The two passphrases differ")
    if new and len(given) < _SHORTEST:
        raise PasswordError(f"The passphrase must have at least {_SHORTEST} characters")
    return given


def _given(file: Path | None) -> str | None:
    if file is None:
        return os.environ.get(VARIABLE)
    try:
        return file.read_text("utf-8").partition("\n")[0]
    except (OSError, UnicodeDecodeError) as error:
        raise KeysError(f"{file} can't be read") from error
