"""The banner that is printed when the service starts."""

from __future__ import annotations

from collections.abc import Mapping

from service import __version__
from service.kernel.about import AUDIENCE, NAME, ROLE
from service.server.prepared import FirstLogin


def banner(address: str, rows: Mapping[str, str], first: FirstLogin | None) -> str:
    """Return the banner: what this is, the address, the stores, and for a new database the first password."""
    width = max(map(len, ("listening", *rows)))
    about = [f"  {sentence}" for sentence in (ROLE, AUDIENCE)]
    lines = [f"{NAME} {__version__}", *about, f"  {'listening':{width}}  {address}"]
    lines += [f"  {name:{width}}  {value}" for name, value in rows.items()]
    if first is not None:
        lines += ["", f"  First administrator: {first.user_name}", f"  Password: {_password(first)}"]
    return "\n".join([*lines, ""])


def _password(first: FirstLogin) -> str:
    if first.password is None:
        return "the one that you set"
    return f"{first.password}   (shown this once; only its hash is stored)"
