"""Rules for the fields of users: names, email addresses, phone numbers and avatars."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from service.errors import ValidationFailed
from service.kernel.field_names import camel
from service.kernel.identity import Kind
from service.kernel.names import name_fault, text_fault
from service.kernel.services import is_service_name

MAX_EMAIL: Final = 254
MAX_PHONE: Final = 32
MAX_AVATAR: Final = 1024
MAX_ROLES: Final = 100

# Simpler than RFC 5321, and strict about characters that are unsafe in headers and links.
_ATOM: Final = r"[^\W_](?:[\w.+'-]*[\w+'-])?|_[\w.+'-]*[\w+'-]"
_LABEL: Final = r"[^\W_](?:[\w-]*[^\W_])?"
_EMAIL: Final = re.compile(rf"(?:{_ATOM})@{_LABEL}(?:\.{_LABEL})*")
_PHONE: Final = re.compile(r"\+?[0-9](?:[ ./()-]{0,2}[0-9])*")
# The characters of RFC 3986; only these two schemes, and no `//host`, which would be a URL without one.
_AVATAR: Final = re.compile(r"(?:https?://|/(?![/\\]))[A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=%-]+")


AccountValues = Mapping[str, Any]
"""The given fields of ``UserValues``; absent fields are unchanged, and None clears a field."""


def check(values: AccountValues) -> None:
    """Check the form of ``values``; raises ValidationFailed with all faults.

    ``require_kind`` checks what goes with which kind.
    """
    if faults := list(_faults(values)):
        raise ValidationFailed(*faults)


def require_kind(kind: Kind, values: AccountValues) -> None:
    """Raise ValidationFailed if ``values`` are not for an account of that kind."""
    if kind != values.get("kind", kind):
        raise ValidationFailed(("kind", "can't be changed"))
    if kind != "service" and values.get("service") is not None:
        raise ValidationFailed(("service", "is for service accounts only"))


def _faults(values: AccountValues) -> Iterator[tuple[str, str]]:
    for name, fault_of in _FORMS.items():
        text = values.get(name)
        if text is not None and (fault := fault_of(text)):
            yield camel(name), fault


def _service_fault(text: str) -> str | None:
    if not is_service_name(text):
        return (
            "must begin with a lower-case letter and have at most 32 lower-case letters, digits and hyphens"
        )
    return None


def _email_fault(text: str) -> str | None:
    if len(text) > MAX_EMAIL or _EMAIL.fullmatch(text) is None:
        return f"must be an email address of at most {MAX_EMAIL} characters"
    return None


def _phone_fault(text: str) -> str | None:
    if len(text) > MAX_PHONE or _PHONE.fullmatch(text) is None:
        return f"must be a phone number of at most {MAX_PHONE} characters"
    return None


def _avatar_fault(text: str) -> str | None:
    if len(text) > MAX_AVATAR or _AVATAR.fullmatch(text) is None:
        return f"must be an http or https URL or a path from /, of at most {MAX_AVATAR} characters"
    return None


_FORMS: Final[Mapping[str, Callable[[str], str | None]]] = {
    "user_name": name_fault,
    "nick_name": text_fault,
    "email": _email_fault,
    "phone": _phone_fault,
    "avatar": _avatar_fault,
    "service": _service_fault,
}
