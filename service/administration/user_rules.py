"""Rules for users that depend on more than one field; those of single fields are declared with them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from service.errors import ValidationFailed
from service.kernel.identity import Kind

MAX_ROLES: Final = 100

AccountValues = Mapping[str, Any]
"""The given fields of ``UserValues``; absent fields are unchanged, and None clears a field."""


def require_kind(kind: Kind, values: AccountValues) -> None:
    """Raise ValidationFailed if ``values`` are not for an account of that kind."""
    if kind != values.get("kind", kind):
        raise ValidationFailed(("kind", "can't be changed"))
    if kind != "service" and values.get("service") is not None:
        raise ValidationFailed(("service", "is for service accounts only"))
