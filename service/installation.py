"""Checks that the module ``casbin`` comes from ``pycasbin``, the distribution that this service uses.

Two distributions ship a module of that name: ``pycasbin``, and its predecessor ``casbin``, which the
SQLAlchemy adapter requires. Installed together, one overwrites files of the other, and the enforcer would
decide with the one installed last. pip installs the predecessor first, which leaves every file of
``pycasbin`` in place; other tools and later upgrades may not.
"""

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
_DISTRIBUTION = "pycasbin"


class InstallationError(Exception):
    """The installed packages are incomplete or mixed up; the message gives the command that repairs them."""


def check_installation(path: Sequence[str] | None = None) -> None:
    """Compare the module ``casbin`` with the digests that ``pycasbin`` recorded; raises InstallationError.

    ``path`` lists the folders to search for modules, by default ``sys.path``. The distribution ``casbin``
    may be installed too as long as no file of ``pycasbin`` is missing or different.
    """
    path = sys.path if path is None else path
    installed = next(iter(distributions(name=_DISTRIBUTION, path=list(path))), None)
    if installed is None:
        raise InstallationError(f"The package {_DISTRIBUTION} is not installed. {_repair(_DISTRIBUTION)}")
    remedy = _repair(f"{_DISTRIBUTION}=={installed.version}", again=True)
    digests = _recorded(installed, f"{_MODULE}/", ".py")
    if not digests:
        raise InstallationError(f"The package {_DISTRIBUTION} has no list of its files. {remedy}")
    changed = [name for name, digest in digests.items() if not _is_intact(installed, name, digest)]
    if changed:
        raise InstallationError(
            f"{len(changed)} of {len(digests)} files of {_DISTRIBUTION} {installed.version} are missing "
            f"or not its own, {changed[0]} for one: the package casbin ships files of the same names. "
            f"{remedy}"
        )
    _check_origin(installed, path)


def changed_files(distribution: str, below: str, path: Sequence[str] | None = None) -> tuple[str, ...] | None:
    """Return the files of an installed ``distribution`` in ``below`` that are missing or not as installed.

    None if it is not installed as a package: a checkout has no list of its files.
    """
    installed = next(
        iter(distributions(name=distribution, path=list(sys.path if path is None else path))), None
    )
    digests = {} if installed is None else _recorded(installed, below, "")
    if installed is None or not digests:
        return None
    return tuple(name for name, digest in digests.items() if not _is_intact(installed, name, digest))


def _recorded(distribution: Distribution, begin: str, end: str) -> dict[str, str]:
    """Return the files whose names begin and end so, and their digests from RECORD.

    ``Distribution.files`` is no use here: since Python 3.12 it leaves out missing files. Bytecode is left
    out: pip compiles it at the installation, and records it without a digest.
    """
    rows = csv.reader((distribution.read_text("RECORD") or "").splitlines())
    return {
        name: digest
        for name, digest, _ in rows
        if name.startswith(begin) and name.endswith(end) and not name.endswith(".pyc")
    }


def _check_origin(installed: Distribution, path: Sequence[str]) -> None:
    """Refuse a module ``casbin`` that stands before ``pycasbin`` on the path."""
    spec = PathFinder.find_spec(_MODULE, path)
    origin = Path(str(installed.locate_file(f"{_MODULE}/__init__.py"))).resolve()
    if spec is None or spec.origin is None or Path(spec.origin).resolve() != origin:
        actual = spec.origin if spec else None
        raise InstallationError(
            f"The module {_MODULE} is {actual}, not {origin} of {_DISTRIBUTION}: remove the former."
        )


def _is_intact(distribution: Distribution, name: str, recorded: str) -> bool:
    """True if a file matches ``recorded``: "sha256=" and unpadded base64, as in the wheel format.

    False without a digest: nothing shows that the file is the installed one.
    """
    algorithm, _, expected = recorded.partition("=")
    if algorithm not in hashlib.algorithms_guaranteed:
        return False
    try:
        content = Path(str(distribution.locate_file(name))).read_bytes()
    except FileNotFoundError:
        return False
    digest = hashlib.new(algorithm, content).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode() == expected


def _repair(requirement: str, *, again: bool = False) -> str:
    """Return the sentence with the command that repairs it: pip's, or uv's if this Python has no pip."""
    python = shlex.quote(sys.executable)
    if importlib.util.find_spec("pip"):
        options = "--force-reinstall --no-deps " if again else ""
        return f"Repair it with:\n    {python} -m pip install {options}{requirement}"
    options = "--reinstall --no-deps " if again else ""
    return f"Repair it with:\n    uv pip install --python {python} {options}{requirement}"
