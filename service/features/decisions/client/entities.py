"""Questions, decisions and users."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

UNAVAILABLE: Final = "unavailable"
"""The reason of a decision where Portcullis gave no clean answer."""
NOT_ASKED: Final = "not_asked"
"""The reason of a decision about a question behind the one that decided."""
NOT_ACTIVE: Final = "subject_not_active"
"""The reason of a decision about a user or a token that is not valid."""


@dataclass(frozen=True, slots=True)
class Subject:
    """The subject of a question; the ``id`` may be a secret and is not shown by ``repr``."""

    type: str
    id: str = field(repr=False)

    @classmethod
    def user(cls, name: str) -> Subject:
        """Return the user with this user name."""
        return cls("user", name)

    @classmethod
    def identity(cls, login_id: str) -> Subject:
        """Return the user with this id: the ``sub`` of tokens."""
        return cls("identity", login_id)

    @classmethod
    def token(cls, token: str) -> Subject:
        """Return the holder of an access token or an API key, which Portcullis verifies."""
        return cls("token", token)


@dataclass(frozen=True, slots=True)
class Resource:
    """The object of a question; ``service`` counts for routes only."""

    type: str
    id: str
    service: str | None = None

    @classmethod
    def route(cls, path: str, service: str | None = None) -> Resource:
        """Return a path as it was sent, or a template such as ``/orders/{id}``; the action is the method.

        Without ``service`` it is the client's, or else that of the account that asks.
        """
        return cls("route", path, service)

    @classmethod
    def permission(cls, code: str) -> Resource:
        """Return a permission code as a resource, for any action."""
        return cls("permission", code)


@dataclass(frozen=True, slots=True)
class Question:
    """May ``subject`` perform ``action`` on ``resource``?"""

    subject: Subject
    action: str
    resource: Resource


TOO_WEAK: Final = "insufficient_user_authentication"
"""The reason of a denial that requires a stronger or newer authentication."""


@dataclass(frozen=True, slots=True)
class StepUp:
    """The challenge for the client of a person (RFC 9470 §3).

    ``acr_values`` are the sufficient strengths, the weakest first. ``max_age`` is the maximum age of the
    proof in seconds, None for any age.
    """

    acr_values: tuple[str, ...] = ()
    max_age: int | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """The answer to a question; true if and only if it is allowed.

    ``reason`` is that of the answer, or ``unavailable`` or ``not_asked``. ``decision_id`` is empty and
    ``revision`` is None where the enforcer was not asked. ``required`` are the permission codes of which any
    would have sufficed, as far as Portcullis reports them. ``subject`` has ``id``, ``name`` and ``roles`` of
    the account of an API key that is allowed; None for all others. ``step_up`` is the challenge for the
    person, where that is the reason of a denial.
    """

    allowed: bool
    reason: str
    decision_id: str = ""
    revision: int | None = None
    required: tuple[str, ...] = ()
    subject: Mapping[str, Any] | None = field(default=None, hash=False)
    step_up: StepUp | None = None

    def __bool__(self) -> bool:
        return self.allowed


@dataclass(frozen=True, slots=True)
class User:
    """The sender of an allowed request: the login id, the user name, and the codes of the roles.

    ``decision_id`` is the id of the decision that let the request pass.
    """

    id: str
    name: str
    roles: tuple[str, ...] = ()
    decision_id: str = ""
