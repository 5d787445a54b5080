"""Starts servers for root and for users without a name, whom PostgreSQL refuses; else ``EmbeddedError``.

The first choice is a user namespace in which the program runs as "nobody" while its files keep their owner.
If namespaces are forbidden, root can change the real user id, and keep only the capability to pass
directories that are closed to others (a home of mode 0700).
"""

import os
import pwd
import shutil
import stat
import subprocess
from functools import cache
from pathlib import Path
from typing import NamedTuple

from service.kernel.operator_error import OperatorError
from service.kernel.text import printable


class EmbeddedError(OperatorError):
    """An embedded store can't start; the message tells the operator what to do."""


_NOBODY = 65534
_NAMESPACE = ("unshare", "-U", f"--map-user={_NOBODY}", f"--map-group={_NOBODY}", "--")
_OTHER_USER = (
    "setpriv",
    f"--reuid={_NOBODY}",
    f"--regid={_NOBODY}",
    "--clear-groups",
    "--securebits=+no_setuid_fixup",
    "--inh-caps=-all,+dac_override",
    "--ambient-caps=-all,+dac_override",
    "--bounding-set=-all,+dac_override",
    "--no-new-privs",
    "--",
)


@cache
def command_prefix() -> tuple[str, ...]:
    """Return the words to put before a server's command, none for most users; raises EmbeddedError."""
    if os.geteuid() != 0 and _has_name(os.geteuid()):
        return ()
    for prefix in (_NAMESPACE, _OTHER_USER):
        if _works(prefix):
            return prefix
    raise EmbeddedError(
        "PostgreSQL does not run as root or as a user without a name, and neither unshare nor setpriv "
        "(package util-linux) works here: run as an ordinary user, or set DATABASE_URL and REDIS_URL "
        "to use servers of your own"
    )


def own_directory(path: Path) -> None:
    """Create the directory ``path`` (its parent exists) with mode 0700, owned by the server's user."""
    path.mkdir(mode=0o700, exist_ok=True)
    if command_prefix() == _OTHER_USER:
        os.chown(path, _NOBODY, _NOBODY)


def _has_name(user: int) -> bool:
    try:
        pwd.getpwuid(user)
    except KeyError:
        return False
    return True


def _works(prefix: tuple[str, ...]) -> bool:
    if shutil.which(prefix[0]) is None:
        return False
    trial = subprocess.run([*prefix, "true"], capture_output=True, check=False)  # noqa: S603 - fixed words
    return trial.returncode == 0


class Complaint(NamedTuple):
    """What is wrong with a directory, and what to do about it; each half a sentence."""

    wrong: str
    remedy: str


def require_own(path: Path) -> None:
    """Raise ``EmbeddedError`` if other users own the directory ``path`` or may write it; it may be missing.

    They could replace the database, or the key that signs tokens. What lies directly in it must be of this
    user too, or of root.
    """
    try:
        complaint = complaint_about(path)
    except FileNotFoundError:
        return
    except OSError as error:
        raise EmbeddedError(f"The data directory {path} can't be used: {error.strerror}") from error
    if complaint:
        message = f"The data directory {path} {complaint.wrong}: {complaint.remedy}"
        raise EmbeddedError(f"{message}, or choose another one with --data")


def complaint_about(path: Path) -> Complaint | None:
    """Return what is wrong with the directory; raises OSError."""
    status = path.stat()
    if status.st_uid not in _trusted():
        return Complaint(f"belongs to {_name(status.st_uid)}", "run as that user")
    if status.st_mode & stat.S_IWOTH:
        return Complaint("can be written by everybody, who could replace what is in it", f"chmod 700 {path}")
    with os.scandir(path) as entries:
        for entry in entries:
            owner = entry.stat(follow_symlinks=False).st_uid
            if owner not in _trusted():
                return Complaint(
                    f"holds {printable(entry.name)} of {_name(owner)}", "remove it, or make it yours"
                )
    return None


def is_open_to_group(path: Path) -> bool:
    """True if a group may write the directory; False if there is none."""
    return path.exists() and bool(path.stat().st_mode & stat.S_IWGRP)


def _trusted() -> set[int]:
    me = os.geteuid()
    return {me, 0} | (set() if me else {_NOBODY})


def _name(user: int) -> str:
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return f"user {user}"
