"""The rotation of the secrets of a local installation: what signs tokens, and what seals second factors."""

from __future__ import annotations

import os
import secrets
import tempfile
from datetime import datetime
from pathlib import Path

from service.settings.checks import hard_to_guess
from service.settings.secrecy import FACTOR_FILE, LOCAL_BYTES, LOCAL_FILE, local_factor_key, owner_only_text
from service.settings.table import Fault, SettingsError

PREVIOUS_FILE = "jwt_previous_secret"
"""The file of the previous secret, in the first line, and its end (RFC 3339), in the second."""

PREVIOUS_FACTOR_FILE = "factor_previous_key"
"""The file of the previous key of second factors."""


def local_previous(data_dir: Path) -> tuple[str, datetime] | None:
    """Return the previous signing secret of the installation in ``data_dir`` and its end; None without one.

    Raises SettingsError if the file is open to other users, not a regular file, or damaged.
    """
    path = data_dir / PREVIOUS_FILE
    if not os.path.lexists(path):
        return None
    text, complaint = owner_only_text(path)
    try:
        secret, end = text.split("\n")
        until = datetime.fromisoformat(end)
        if complaint is None and until.utcoffset() is not None:
            return secret, until
    except ValueError:
        pass
    complaint = complaint or "is damaged: delete it, which ends the sessions of the previous key"
    raise SettingsError([Fault("auth.jwt_previous_secret", f"the local secret {path} {complaint}")])


def rotate_local_secret(data_dir: Path, until: datetime | None) -> Path:
    """Replace the signing secret of the installation in ``data_dir`` by a new one; return its file.

    The old one is kept as the previous one until ``until``; with None, both it and an earlier one are
    dropped. Each file is replaced as a whole: after a crash, it holds the old or the new content. Raises
    SettingsError if there is no usable secret to replace.
    """
    path, previous = data_dir / LOCAL_FILE, data_dir / PREVIOUS_FILE
    secret, complaint = owner_only_text(path)
    if complaint:
        raise SettingsError([Fault("auth.jwt_secret", f"the local secret {path} {complaint}")])
    if until is not None:  # before the new secret: a start in between knows the old one in any case
        _replace(previous, f"{secret}\n{until.isoformat()}\n")
    _replace(path, secrets.token_urlsafe(LOCAL_BYTES) + "\n")
    if until is None:
        previous.unlink(missing_ok=True)
    return path


def local_previous_factor_key(data_dir: Path) -> str:
    """Return the previous key of second factors of the installation in ``data_dir``; "" without one.

    Raises SettingsError if the file is open to other users, not a regular file, or damaged.
    """
    path = data_dir / PREVIOUS_FACTOR_FILE
    if not os.path.lexists(path):
        return ""
    key, complaint = owner_only_text(path)
    if complaint := complaint or hard_to_guess(key or " "):
        raise SettingsError([Fault("auth.factor_previous_key", f"the local key {path} {complaint}")])
    return key


def rotate_local_factor_key(data_dir: Path) -> Path:
    """Replace the key of second factors in ``data_dir`` by a new one, keep the old one; return its file.

    Raises SettingsError if there is no usable key to replace.
    """
    path = data_dir / FACTOR_FILE
    _replace(data_dir / PREVIOUS_FACTOR_FILE, local_factor_key(data_dir) + "\n")
    _replace(path, secrets.token_urlsafe(LOCAL_BYTES) + "\n")
    return path


def _replace(path: Path, content: str) -> None:
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # O_EXCL, mode 0600
    try:
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
