"""What questions name: a subject, an action and a resource, as AuthZEN Authorization API 1.0 §5 has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct

USER: Final = "user"
"""The type of a subject that is named by its user name."""
IDENTITY: Final = "identity"
"""The type of a subject that is named by its login id: the ``sub`` of its tokens."""
TOKEN: Final = "token"  # noqa: S105 - a word, no token
"""The type of a subject that is named by an access token."""
ROUTE: Final = "route"
"""The type of a resource that is a path, or a template of paths; its action is the method."""
PERMISSION: Final = "permission"
"""The type of a resource that is a permission code; the action counts for nothing."""

USE: Final = "use"
"""The action that a search finds for a permission code."""


class Subject(Struct, frozen=True):
    """Who would act; the id of a token is secret."""

    type: str
    id: str

    def __repr__(self) -> str:
        return f"Subject({self.type!r}, …)"


class Resource(Struct, frozen=True):
    """What would be acted on. ``service`` is the one that ``properties`` name; None if they name none."""

    type: str
    id: str
    service: str | None = None


class Asked(Struct, frozen=True):
    """One question."""

    subject: Subject
    action: str
    resource: Resource


def named_service(properties: Mapping[str, Any]) -> str | None:
    """Return the service that the properties of a resource name; "" for one that can't be a name."""
    service = properties.get("service")
    if service is None or isinstance(service, str):
        return service
    return ""
