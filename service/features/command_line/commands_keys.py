"""``portcullis keys rotate``: create a new key for tokens or second factors, with instructions."""

import os
import secrets
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final, NamedTuple

from service import settings as table
from service.authn.signing_keys import new_pair
from service.cli.lazy_commands import add_data
from service.cli.output import aligned, say
from service.operator.errors import LaunchError
from service.operator.who import tell_security
from service.settings import (
    Auth,
    Settings,
    local_previous,
    local_previous_factor_key,
    rotate_local_factor_key,
    rotate_local_secret,
)

_RESTART_WITHIN: Final = timedelta(hours=1)
_SECRET_BYTES: Final = 64  # enough for HS512 (RFC 7518 §3.2)


class RotationError(LaunchError):
    """The key cannot be rotated; nothing was changed."""


class Rotated(NamedTuple):
    """A new key: a sentence about it, and the settings that activate it, by name."""

    made: str
    to_set: Mapping[str, str]


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options."""
    add_data(parser)
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument(
        "--stolen", action="store_true", help="accept no token of the present key any more; all sessions end"
    )
    choice.add_argument(
        "--factors", action="store_true", help="replace the key of second factors, not the one that signs"
    )


def run(options: Namespace, environ: Mapping[str, str]) -> None:
    """Create the key and print the instructions, without any secret.

    Raises ``SettingsError``, and ``RotationError`` if tokens of an earlier rotation are still accepted or a
    file cannot be written.
    """
    settings = table.load(environ)
    if options.factors:
        _rotate_factor_key(settings, environ)
        return
    until = None if options.stolen else _end_of_present_key(settings.auth)
    if until is not None:
        _refuse_second_rotation(settings)
    try:
        done = _rotate(settings, until)
    except OSError as error:
        raise RotationError(f"{error.filename} can't be written: {error.strerror}") from error
    tell_security(
        settings, "a new signing key was made by the operator", stolen=options.stolen, until=_text(until)
    )
    say(*_report(done, until, environ))


def _rotate_factor_key(settings: Settings, environ: Mapping[str, str]) -> None:
    try:
        done = _new_factor_key(settings)
    except OSError as error:
        raise RotationError(f"{error.filename} can't be written: {error.strerror}") from error
    tell_security(settings, "a new key of second factors was made by the operator")
    say(done.made)
    if done.to_set:
        rows = [(_variable(name, environ), value) for name, value in done.to_set.items()]
        say("Set on all nodes:", *aligned(rows, indent="  "))
    say(
        "Then restart. The job factor-keys encrypts what is stored with the new key; once `portcullis "
        "doctor` reports it done, remove the previous key."
    )


def _new_factor_key(settings: Settings) -> Rotated:
    auth, data = settings.auth, settings.server.data
    is_local = not auth.factor_key and not settings.database.url
    if auth.factor_previous_key or (is_local and local_previous_factor_key(data)):
        raise RotationError(
            "A previous key is still set: remove it once `portcullis doctor` reports it unused"
        )
    if is_local:
        path = rotate_local_factor_key(data)
        return Rotated(
            f"A new key of second factors is in {path}, and the next start takes it from there.", {}
        )
    if not auth.factor_key:
        raise RotationError("There is no key of second factors to replace: set auth.factor_key")
    path = data / f"factor_key-{secrets.token_hex(4)}"
    data.mkdir(mode=0o700, parents=True, exist_ok=True)
    _write(path, secrets.token_urlsafe(_SECRET_BYTES).encode() + b"\n", 0o600)
    to_set = {"factor_key": f"the content of {path}", "factor_previous_key": "the present auth.factor_key"}
    return Rotated(f"A new key is in {path}. Delete the file once its content is set.", to_set)


def _rotate(settings: Settings, until: datetime | None) -> Rotated:
    auth = settings.auth
    if not auth.jwt_algorithm.startswith("HS"):
        return _new_pair(auth, until)
    if auth.jwt_secret:
        return _new_secret(settings.server.data, until)
    path = rotate_local_secret(settings.server.data, until)
    return Rotated(f"A new signing secret is in {path}, and the next start takes it from there.", {})


def _end_of_present_key(auth: Auth) -> datetime:
    """Return the expiry of the last token signed by the present key, if the restart is soon."""
    longest = timedelta(seconds=max(auth.access_timeout, auth.refresh_timeout))
    return (datetime.now(UTC) + longest + _RESTART_WITHIN).replace(microsecond=0)


def _refuse_second_rotation(settings: Settings) -> None:
    auth = settings.auth
    is_local = auth.jwt_algorithm.startswith("HS") and not auth.jwt_secret
    kept = local_previous(settings.server.data) if is_local else None
    ends = auth.jwt_previous_until or (kept[1] if kept else None)
    if ends is not None and ends > datetime.now(UTC):
        raise RotationError(
            f"The previous key is accepted until {_text(ends)}; a rotation before that would refuse its "
            "tokens. If a key was stolen, use --stolen"
        )


def _new_pair(auth: Auth, until: datetime | None) -> Rotated:
    assert auth.jwt_private_key is not None  # noqa: S101 - the rules of the settings need it
    pair = new_pair(auth.jwt_algorithm)
    folder = auth.jwt_private_key.parent
    private, public = (folder / f"jwt-{part}-{pair.kid[:8]}.pem" for part in ("private", "public"))
    _write(private, pair.private, 0o600)
    _write(public, pair.public, 0o644)
    to_set = {"jwt_private_key": str(private), "jwt_public_key": str(public)}
    if until is not None:
        to_set["jwt_previous_private_key"] = str(auth.jwt_private_key)
    return Rotated(f"A new pair of keys for {auth.jwt_algorithm} is in {folder}.", to_set)


def _new_secret(data: Path, until: datetime | None) -> Rotated:
    path = data / f"jwt_secret-{secrets.token_hex(4)}"
    data.mkdir(mode=0o700, parents=True, exist_ok=True)
    _write(path, secrets.token_urlsafe(_SECRET_BYTES).encode() + b"\n", 0o600)
    to_set = {"jwt_secret": f"the content of {path}"}
    if until is not None:
        to_set["jwt_previous_secret"] = "the present auth.jwt_secret"  # noqa: S105 - words, not a secret
    return Rotated(f"A new secret is in {path}. Delete the file once its content is set.", to_set)


def _write(path: Path, content: bytes, mode: int) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _variable(name: str, environ: Mapping[str, str]) -> str:
    """Return the variable of ``auth.name``: the set one, because two different ones prevent a start.

    If the variable names a file, return words for that file.
    """
    row = next(row for row in table.table() if row.title == f"auth.{name}")
    if file := next((variable for variable in row.files if variable in environ), None):
        return f"the file of {file}"
    return next((variable for variable in row.variables if variable in environ), row.variables[0])


def _report(done: Rotated, until: datetime | None, environ: Mapping[str, str]) -> list[str]:
    lines = [done.made]
    to_set = dict(done.to_set)
    if to_set and until is not None:
        to_set["jwt_previous_until"] = _text(until)
    if to_set:
        lines.append("Set on all nodes:")
        rows = [(_variable(name, environ), value) for name, value in to_set.items()]
        lines += aligned(rows, indent="  ")
    if until is None:
        unset = "Set no auth.jwt_previous_…, and restart" if to_set else "Restart"
        lines.append(f"{unset} all nodes now: until then, tokens of the stolen key pass. All sessions end.")
    else:
        lines.append(
            f"Then restart, within an hour: the present key signs until then, and its tokens pass until "
            f"{_text(until)}."
        )
    return lines


def _text(moment: datetime | None) -> str:
    return "" if moment is None else moment.astimezone(UTC).isoformat().replace("+00:00", "Z")
