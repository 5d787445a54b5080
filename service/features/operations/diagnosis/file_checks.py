"""Checks of files with secrets and their permissions; the object store."""

import os
import stat
from datetime import UTC, datetime, timedelta

from service.authn.signing_keys import signing_keys
from service.errors import Unavailable
from service.files.object_store import object_store
from service.kernel.clock import rfc3339
from service.operator.data_directory import complaint_about, is_open_to_group
from service.operator.findings import Finding, Installation, fault, ok, warning
from service.settings import SettingsError, configured_file, local_previous, local_secret, written_secrets
from service.settings import secret_files as files_with_secrets

_FEWEST_LETTERS = 10  # different ones; 32 random hexadecimal digits have fewer once in some million
_LOCAL_FILE = "jwt_secret"
_SLACK = timedelta(days=1)  # for a new key that is brought to all nodes before it signs


def signing_key(installation: Installation) -> Finding:
    """With the key one can forge the tokens of any user."""
    auth = installation.settings.auth
    try:
        if not auth.jwt_algorithm.startswith("HS"):
            signing_keys(auth)
            return ok(f"{auth.jwt_algorithm}, with a matching key pair")
        secret = auth.jwt_secret or kept_secret(installation)
    except SettingsError as wrong:
        return fault(
            "; ".join(mistake.message for mistake in wrong.faults),
            "see docs/reference/settings.md, section auth",
        )
    if not secret:
        return ok(f"{auth.jwt_algorithm}; the first start creates a random secret")
    if len(set(secret)) < _FEWEST_LETTERS:
        return warning(
            f"{auth.jwt_algorithm}, but with few different characters: it does not look random",
            'use the output of: python3 -c "import secrets; print(secrets.token_urlsafe(64))"',
        )
    return ok(f"{auth.jwt_algorithm}, {len(secret.encode())} bytes")


def kept_secret(installation: Installation) -> str:
    """Return the data directory's secret, "" if it has none; SettingsError if it is open to others."""
    data = installation.settings.server.data
    return local_secret(data, 1) if os.path.lexists(data / _LOCAL_FILE) else ""


def previous_key(installation: Installation) -> Finding:
    """A leaked old key forges tokens for as long as it is accepted."""
    settings = installation.settings
    auth = settings.auth
    ends = auth.jwt_previous_until
    try:
        is_local = auth.jwt_algorithm.startswith("HS") and not auth.jwt_secret
        if ends is None and is_local and (kept := local_previous(settings.server.data)):
            ends = kept[1]
    except SettingsError as wrong:
        return fault(
            wrong.faults[0].message,
            "delete the file, or restore it: docs/explanation/sessions.md, Signing keys",
        )
    if ends is None:
        return ok("none")
    until = rfc3339(ends.astimezone(UTC))
    left = ends - datetime.now(UTC)
    if left <= timedelta():
        remedy = (
            "remove the settings auth.jwt_previous_…, or the file jwt_previous_secret of the data directory"
        )
        return warning(f"it expired at {until}, but is still configured", remedy)
    if left > timedelta(seconds=max(auth.access_timeout, auth.refresh_timeout)) + _SLACK:
        return warning(
            f"it is accepted until {until}, longer than the lifetime of any token",
            "set auth.jwt_previous_until to the expiry of its last token",
        )
    return ok(f"accepted until {until}")


def configuration_file(installation: Installation) -> Finding:
    """Write access to the file changes every setting; read access shows its secrets."""
    path = configured_file(installation.environ)
    if path is None:
        return ok("none")
    mode = path.stat().st_mode
    if mode & (stat.S_IWGRP | stat.S_IWOTH):
        return fault(f"other users can write {path}, and so change all settings", f"chmod go-w {path}")
    secrets = written_secrets(path)
    if secrets and mode & stat.S_IROTH:
        return fault(f"all users can read {path}, which contains {', '.join(secrets)}", f"chmod 600 {path}")
    if secrets and mode & stat.S_IRGRP:
        return warning(f"a group can read {path}, which contains {', '.join(secrets)}", f"chmod 600 {path}")
    return ok(f"{path} contains {len(secrets)} secrets, readable only by its owner" if secrets else str(path))


def secret_files(installation: Installation) -> Finding:
    """Write access to a secret's file sets the secret; read access shows it."""
    modes = {path: path.stat().st_mode for path in files_with_secrets(installation.environ)}
    for path, mode in modes.items():
        if mode & (stat.S_IWGRP | stat.S_IWOTH):
            return fault(f"other users can write {path}, and so set the secret", f"chmod go-w {path}")
    for path, mode in modes.items():
        if mode & stat.S_IROTH:
            return warning(
                f"all users can read {path}",
                "allow only the user and group of the service to read it: chmod 440, or the mode of the "
                "mount",
            )
    return ok(f"{len(modes)} files, none readable by all users" if modes else "there are none")


def data_directory(installation: Installation) -> Finding:
    """It holds the embedded stores, the local signing secret and files."""
    path = installation.settings.server.data
    try:
        complaint = complaint_about(path)
        mode = path.stat().st_mode
    except FileNotFoundError:
        return ok(f"{path} is created when it is needed")
    except OSError as error:
        return fault(
            f"{path} can't be used: {error.strerror}",
            "give the user of the service access, or set another path",
        )
    if complaint is not None:
        return fault(f"{path} {complaint.wrong}", complaint.remedy)
    if is_open_to_group(path):
        return fault(f"other users can write {path}, and so replace its contents", f"chmod 700 {path}")
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        return warning(f"other users can read {path}", f"chmod 700 {path}")
    return ok(str(path))


async def objects(installation: Installation) -> Finding:
    """Files can be neither uploaded nor read without it."""
    settings = installation.settings
    folder = settings.server.data / "files"
    store = object_store(settings.objstore, folder)
    if not settings.objstore.bucket and not folder.exists():  # asking would make it
        return ok(f"{store.description} is created when it is needed")
    try:
        await store.ping()
    except Unavailable:
        return fault(
            f"{store.description} does not respond",
            "check objstore.*: endpoint, bucket, region and both keys",
        )
    return ok(store.description)
