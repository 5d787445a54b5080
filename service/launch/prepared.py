"""What a start says of its preparation: refused, or prepared, and then the first login of a new database."""

from __future__ import annotations

from dataclasses import dataclass

PASSWORD = "PORTCULLIS_ADMIN_PASSWORD"  # noqa: S105 - the name of a variable, not a password
"""The variable by which the operator chooses the password."""


@dataclass(frozen=True, slots=True)
class FirstLogin:
    """The administrator of a new database.

    ``password`` is None when the operator chose it, and ``complaint`` then says what is weak about it.
    """

    user_name: str
    password: str | None
    complaint: str | None = None


@dataclass(frozen=True, slots=True)
class Refused:
    """What the process found to be wrong, in words for the operator."""

    reason: str


@dataclass(frozen=True, slots=True)
class Prepared:
    """What the banner tells of the prepared stores; ``first_login`` is None unless the database was new."""

    first_login: FirstLogin | None
    policy: str
    files: str
