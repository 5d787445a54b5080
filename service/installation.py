"""Whether the module ``casbin`` is the one that this service was written for.

Two distributions ship a module of that name: ``pycasbin``, which the service uses, and its
predecessor ``casbin``, which the SQLAlchemy adapter asks for. Installed together, one overwrites files
of the other, and the enforcer would decide with whichever came last. pip installs the predecessor
first, which leaves every file of ``pycasbin`` in place; other tools and later upgrades may not.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import importlib.util
import shlex
import sys
from collections.abc import Sequence
from importlib.machinery import PathFinder
from importlib.metadata import Distribution, distributions
from pathlib import Path

_MODULE = "casbin"
_WANTED = "pycasbin"


class InstallationError(Exception):
    """The packages on this machine are not what they claim to be; the message tells how to mend it."""


def check_installation(path: Sequence[str] | None = None) -> None:
    """Compare the module ``casbin`` with what ``pycasbin`` recorded; raises InstallationFault.

    ``path`` is where modules are looked for, by default ``sys.path``. That the distribution ``casbin``
    is there too is no fault as long as no file of ``pycasbin`` is missing or different.
    """
    path = sys.path if path is None else path
    wanted = next(iter(distributions(name=_WANTED, path=list(path))), None)
    if wanted is None:
        raise InstallationError(f"The package {_WANTED} is not installed. {_how_to_mend(_WANTED)}")
    remedy = _how_to_mend(f"{_WANTED}=={wanted.version}", again=True)
    digests = _recorded(wanted)
    if not digests:
        raise InstallationError(f"The package {_WANTED} has no list of its files. {remedy}")
    changed = [name for name, digest in digests.items() if not _is_intact(wanted, name, digest)]
    if changed:
        raise InstallationError(
            f"{len(changed)} of {len(digests)} files of {_WANTED} {wanted.version} are missing "
            f"or not its own, {changed[0]} for one: the package casbin ships files of the same names. "
            f"{remedy}"
        )
    _check_origin(wanted, path)


def _recorded(distribution: Distribution) -> dict[str, str]:
    """Return the module's files and their digests from RECORD.

    ``Distribution.files`` would not do: from Python 3.12 on it leaves out the missing ones.
    """
    rows = csv.reader((distribution.read_text("RECORD") or "").splitlines())
    return {
        name: digest for name, digest, _ in rows if name.startswith(f"{_MODULE}/") and name.endswith(".py")
    }


def _check_origin(wanted: Distribution, path: Sequence[str]) -> None:
    """Refuse a module that comes from somewhere else on the path, before ``pycasbin`` is reached."""
    spec = PathFinder.find_spec(_MODULE, path)
    expected = Path(str(wanted.locate_file(f"{_MODULE}/__init__.py"))).resolve()
    if spec is None or spec.origin is None or Path(spec.origin).resolve() != expected:
        found = spec.origin if spec else None
        raise InstallationError(
            f"The module {_MODULE} is {found}, not {expected} of {_WANTED}: remove the former."
        )


def _is_intact(distribution: Distribution, name: str, recorded: str) -> bool:
    """Compare one file with ``recorded``: "sha256=" and unpadded base64, as the wheel format has it."""
    algorithm, _, expected = recorded.partition("=")
    try:
        content = Path(str(distribution.locate_file(name))).read_bytes()
    except FileNotFoundError:
        return False
    digest = hashlib.new(algorithm, content).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode() == expected


def _how_to_mend(requirement: str, *, again: bool = False) -> str:
    """Say which command mends it, for pip, or for uv where this Python has no pip."""
    python = shlex.quote(sys.executable)
    if importlib.util.find_spec("pip"):
        options = "--force-reinstall --no-deps " if again else ""
        return f"Mend it with:\n    {python} -m pip install {options}{requirement}"
    options = "--reinstall --no-deps " if again else ""
    return f"Mend it with:\n    uv pip install --python {python} {options}{requirement}"
