"""The command ``portcullis`` of an installation: runs the package ``service`` of this installation.

The wheel holds this file as ``portcullis_admin``. A project of the operator may have a package ``service``
too. Earlier on Python's path, that package would be imported in place of ours. So this module checks the path
before it imports the service.
"""

import base64
import csv
import hashlib
import sys
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path

_DISTRIBUTION = "portcullis-admin"
_FIRST = ("service/__init__.py", "service/__main__.py", "service/installation.py")


def main() -> int:
    """Run the command of the process's arguments; returns the exit status, 1 for a foreign package."""
    fault = fault_of(Path(__file__).resolve().parent)
    if fault:
        print(f"portcullis: {fault}", file=sys.stderr)
        return 1
    from service.__main__ import main as run  # noqa: PLC0415 - only now it is surely ours

    return run()


def fault_of(site: Path) -> str:
    """Return the fault if ``service`` is not the package installed in the folder ``site``; else "".

    In an editable installation it is the package of a checkout, which contains this file.
    """
    spec = find_spec("service")
    place = spec and (spec.origin or next(iter(spec.submodule_search_locations or ()), None))
    package = Path(str(place)).resolve().parent
    if place is None or (package != (site / "service").resolve() and not _is_checkout(package)):
        return (
            f"the Python package service is {place}, not that of {_DISTRIBUTION} in {site}. Take the folder "
            "of the former out of PYTHONPATH, or start from another folder: Portcullis can stand beside a "
            "package of this name, but not behind it."
        )
    if strange := next((name for name in _FIRST if _is_changed(site, name)), None):
        return (
            f"{site / strange} is not the file that {_DISTRIBUTION} has installed: another distribution "
            "ships a package of the name service. Install the two into environments of their own."
        )
    return ""


def _is_checkout(package: Path) -> bool:
    launcher = package / "launch.py"
    return launcher.is_file() and launcher.read_bytes() == Path(__file__).read_bytes()


def _is_changed(site: Path, name: str) -> bool:
    """True if a file differs from its digest in the list of installed files; False where it is not listed."""
    try:
        rows = csv.reader((distribution(_DISTRIBUTION).read_text("RECORD") or "").splitlines())
    except PackageNotFoundError:
        return False
    recorded = next((digest for listed, digest, _ in rows if listed == name), "")
    if not recorded:
        return False
    digest = hashlib.sha256((site / name).read_bytes()).digest()
    return recorded != f"sha256={base64.urlsafe_b64encode(digest).rstrip(b'=').decode()}"


if __name__ == "__main__":
    sys.exit(main())
