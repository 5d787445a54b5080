"""Ownership of the data directory: other users must not be able to replace its contents."""

import os
import pwd
import stat
from pathlib import Path
from typing import Final, NamedTuple

from service.kernel.text import printable
from service.operator.errors import EmbeddedError

NOBODY: Final = 65534
"""The id of the user "nobody", who runs the servers if root starts them."""


class Complaint(NamedTuple):
    """A problem of a directory, and its remedy; each half a sentence."""

    wrong: str
    remedy: str


def require_own(path: Path) -> None:
    """Raise ``EmbeddedError`` if other users own or may write the directory ``path``; it may be missing.

    They could replace the database, or the key that signs tokens. Its direct entries must also belong to this
    user or to root.
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
    """Return the problem of the directory, None if there is none; raises OSError."""
    status = path.stat()
    if status.st_uid not in _trusted():
        return Complaint(f"belongs to {_name(status.st_uid)}", "run as that user")
    if status.st_mode & stat.S_IWOTH:
        return Complaint("is writable by every user, who could replace its contents", f"chmod 700 {path}")
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
    return {me, 0} | (set() if me else {NOBODY})


def _name(user: int) -> str:
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return f"user {user}"
