"""Start servers as root or as a user without a name, both of which PostgreSQL rejects.

The first choice is a user namespace in which the program runs as "nobody" while its files keep their owner.
If namespaces are forbidden, root changes the real user id, and keeps only the capability to pass directories
closed to others (a home of mode 0700). Raises ``EmbeddedError`` if both are impossible.
"""

import os
import pwd
import shutil
import subprocess
from functools import cache
from pathlib import Path

from service.operator.data_directory import NOBODY
from service.operator.errors import EmbeddedError

_NAMESPACE = ("unshare", "-U", f"--map-user={NOBODY}", f"--map-group={NOBODY}", "--")
_OTHER_USER = (
    "setpriv",
    f"--reuid={NOBODY}",
    f"--regid={NOBODY}",
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
    """Return the prefix of a server's command, empty for most users; raises EmbeddedError."""
    if os.geteuid() != 0 and _has_name(os.geteuid()):
        return ()
    for prefix in (_NAMESPACE, _OTHER_USER):
        if _works(prefix):
            return prefix
    raise EmbeddedError(
        "PostgreSQL does not run as root or as a user without a name, and neither unshare nor setpriv "
        "(package util-linux) works here: run as an ordinary user, or set DATABASE_URL and REDIS_URL to "
        "use external servers"
    )


def own_directory(path: Path) -> None:
    """Create the directory ``path`` (its parent exists) with mode 0700, owned by the server's user."""
    path.mkdir(mode=0o700, exist_ok=True)
    if command_prefix() == _OTHER_USER:
        os.chown(path, NOBODY, NOBODY)


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
