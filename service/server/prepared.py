"""The result of a preparation: refused, or prepared, with the first login of a new database; its banner."""

from collections.abc import Mapping
from dataclasses import dataclass

from service import __version__
from service.kernel.about import AUDIENCE, NAME, ROLE


@dataclass(frozen=True, slots=True)
class FirstLogin:
    """The administrator of a new database; ``password`` is None if the operator chose it."""

    user_name: str
    password: str | None


@dataclass(frozen=True, slots=True)
class Refused:
    """An error that the process found; ``reason`` is a message for the operator."""

    reason: str


@dataclass(frozen=True, slots=True)
class Prepared:
    """The prepared stores, for the banner; ``first_login`` is None unless the database was new."""

    first_login: FirstLogin | None
    policy: str
    files: str


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
