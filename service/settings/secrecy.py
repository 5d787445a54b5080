"""The signing secret: how strong it must be, and the random secret of a local installation."""

import os
import re
import secrets
import stat
import tempfile
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path

from service.settings.checks import hard_to_guess
from service.settings.table import Fault, SettingsError

# RFC 7518 §3.2: a key of at least the size of the hash output.
LEAST_BYTES = {"HS256": 32, "HS384": 48, "HS512": 64}
LOCAL_BYTES = 64
LOCAL_FILE = "jwt_secret"
FACTOR_FILE = "factor_key"
_MOST_BYTES = 65_536  # of a file with a secret: the tables of all export destinations may be in one

_SHORTEST_PERIOD = 16

# Published secrets that are long enough; compared without case and punctuation.
_PUBLISHED = frozenset(
    re.sub(r"[^a-z0-9]", "", text.lower())
    for text in (  # RFC 7515 A.1, RFC 7520 §3.5, and the tutorials of two web frameworks
        "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow",
        "hJtXIZ2uSN5kbQfbtTNWbpdmhkV8FJG-Onbc6mxCcYg",
        "09d25e094faa6ca2556c818166b7a9563b93f7099f6f0f4caa6cf63b88e8d3e7",
        "404E635266556A586E3272357538782F413F4428472B4B6250645367566B5970",
    )
)
# The words of published examples and placeholders: jwt.io's "a-string-secret-at-least-256-bits-long" and
# "your-256-bit-secret", "this is a very long secret key, please change me in production", "qwertyuiop…".
_WORDS = """
0 1 2 3 4 5 6 7 8 9 x a an and at be bit bits byte bytes characters chars for from has in is it key least
long make me more must my not of one or our please put safe should some something sure that the this to
use valid very with your access admin app application auth authentication change changed default demo dev
development django env example fallback foobar here hs hmac insecure jwt local need needs only pass
passphrase password portcullis private prod production random refresh replace sample secret secrets
secure server service sha sign signature signing spring string strong super test testing token tokens
value welcome letmein correct horse battery staple hello world abcdefghijklmnopqrstuvwxyz abcdefgh abcdef
abc qwertyuiop qwerty asdfghjkl asdf zxcvbnm deadbeef cafebabe
"""


def check_secret(algorithm: str, secret: str) -> str | None:
    """Return the fault of ``secret`` as the key of ``algorithm`` (HS256, HS384, HS512), or None.

    It must be as long as the hash (RFC 7518 §3.2). It must not be a published example, a placeholder made of
    common words, or a repeated short text. The result never contains the secret.
    """
    least = LEAST_BYTES[algorithm]
    if len(secret.encode()) < least:
        return f"must be at least {least} bytes for {algorithm} (RFC 7518 §3.2)"
    if _repeats(secret.rstrip("=")):
        return "must not repeat a few characters"
    plain = re.sub(r"[^a-z0-9]", "", secret.lower())
    # Without the padding that may have made it long enough.
    core = re.sub(r"(.)\1{3,}$", "", re.sub(r"^(.)\1{3,}", "", plain))
    if len(core) < _SHORTEST_PERIOD or any(
        text in _PUBLISHED or _is_made_of_words(text) for text in (plain, core)
    ):
        return "must not be a well-known secret, or common words and digits: use a random one"
    return None


def _is_made_of_words(text: str) -> bool:
    words = _WORDS.split()
    reached = {0}
    for start in range(len(text)):
        if start in reached:
            reached |= {start + len(word) for word in words if text.startswith(word, start)}
    return len(text) in reached


def _repeats(text: str) -> bool:
    """True if ``text`` repeats a unit of fewer than 16 characters (the last one may be cut)."""
    return any(text[period:] == text[:-period] for period in range(1, _SHORTEST_PERIOD))


def local_secret(data_dir: Path, nbytes: int) -> str:
    """Return the signing secret of the installation in ``data_dir``, of at least ``nbytes`` bytes.

    The first call creates it. Raises SettingsError if the file is open to other users, not a regular file, or
    too short.
    """
    path = data_dir / LOCAL_FILE
    secret, complaint = _kept_or_made(path, max(nbytes, LOCAL_BYTES))
    if complaint is None and len(secret.encode()) < nbytes:
        complaint = (
            f"is shorter than {nbytes} bytes; delete it to have a new one made, which ends all sessions"
        )
    if complaint:
        raise SettingsError([Fault("auth.jwt_secret", f"the local secret {path} {complaint}")])
    return secret


def local_factor_key(data_dir: Path) -> str:
    """Return the key of second factors of the installation in ``data_dir``; the first call creates it.

    Raises SettingsError if the file is open to other users, not a regular file, or too short.
    """
    path = data_dir / FACTOR_FILE
    key, complaint = _kept_or_made(path, LOCAL_BYTES)
    complaint = complaint or hard_to_guess(key or " ")
    if complaint:
        raise SettingsError([Fault("auth.factor_key", f"the local key {path} {complaint}")])
    return key


def _kept_or_made(path: Path, nbytes: int) -> tuple[str, str | None]:
    """Return the secret in the file and its fault; a new secret of ``nbytes`` if there is no file.

    It is written to a temporary file and linked. So processes that start at the same time agree on one
    secret, and a crash leaves no partial file.
    """
    if not os.path.lexists(path):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with written_beside(path, secrets.token_urlsafe(nbytes) + "\n") as made, suppress(FileExistsError):
            os.link(made, path)  # if another process was first, its secret is used
    return owner_only_text(path)


@contextmanager
def written_beside(path: Path, content: str) -> Iterator[Path]:
    """Write ``content`` to the disk, in a file of mode 0600 beside ``path``; remove it in the end."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # O_EXCL, mode 0600
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        yield Path(name)
    finally:
        Path(name).unlink(missing_ok=True)


def is_open_to_others(status: os.stat_result) -> bool:
    """True if others than the service may read or write a file with a secret.

    If root owns the file and the service is not root, its group may read it: the service could not otherwise.
    """
    of_root = status.st_uid == 0 != os.geteuid()
    return bool(status.st_mode & (0o037 if of_root else 0o077))


def owner_only_text(path: Path) -> tuple[str, str | None]:
    """Return the text of a file readable only by its owner and None, or "" and its fault."""
    return _text(path, os.O_NOFOLLOW, lambda status: bool(status.st_mode & 0o077))


def mounted_text(path: Path) -> tuple[str, str | None]:
    """Return the same of a file that a setting names, which may be a link; see ``is_open_to_others``."""
    return _text(path, 0, is_open_to_others)


def platform_text(path: Path) -> tuple[str, str | None]:
    """Return the text of a file without the line breaks at its end and None, or "" and its fault.

    The file may be readable by others: container platforms mount secrets with mode 0444 or 0644.
    """
    content, complaint = _content(path, 0, lambda _status: False)
    if complaint:
        return "", complaint
    try:
        text = content.decode("utf-8-sig").rstrip("\r\n")
    except UnicodeDecodeError:
        return "", "is not UTF-8"
    return text, None if text else "is empty"


def _text(path: Path, flags: int, is_open: Callable[[os.stat_result], bool]) -> tuple[str, str | None]:
    content, complaint = _content(path, flags, is_open)
    try:
        return content.removeprefix(BOM_UTF8).decode("ascii").strip(), complaint
    except UnicodeDecodeError:
        return "", "is not text"


def _content(path: Path, flags: int, is_open: Callable[[os.stat_result], bool]) -> tuple[bytes, str | None]:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | flags)
    except OSError as error:
        return b"", f"can't be opened: {error.strerror}"
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            return b"", "is not a regular file"
        if is_open(status):
            return b"", "is open to other users: chmod 600 it, or delete it if somebody may have read it"
        content = os.read(handle, _MOST_BYTES + 1)
    finally:
        os.close(handle)
    return (b"", f"is longer than {_MOST_BYTES} bytes") if len(content) > _MOST_BYTES else (content, None)


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
    with written_beside(path, content) as made:
        made.replace(path)
