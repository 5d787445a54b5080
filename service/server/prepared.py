"""The result of a preparation: refused, or prepared, with the first login of a new database."""

from __future__ import annotations

from dataclasses import dataclass


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
