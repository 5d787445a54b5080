"""What questions name, as AuthZEN Authorization API 1.0 says it, and what the enforcer is asked for it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct

from service.authz.engine.paths import (
    canonical,
    canonical_external_path,
    registered_fault,
    shape,
)
from service.errors import BadRequest
from service.kernel.codes import is_code
from service.kernel.services import NAME, PORTCULLIS
from service.kernel.value_rules import MAX_REGISTERED_PATH

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


_PART: Final = re.compile(r"[a-z0-9_-]+")

Unanswerable: TypeAlias = Literal["unknown_service", "not_canonical", "no_code"]
"""Why the enforcer is not asked; the answer is no.

``unknown_service``: there can be none with that name. ``not_canonical``: a path that could be read in two
ways. ``no_code``: the resource and the action make no permission code.
"""


class RequestTo(Struct, frozen=True):
    """A request to a service; ``path`` is canonical."""

    service: str
    method: str
    path: str


class RequestsTo(Struct, frozen=True):
    """All requests to a service that fit a template such as ``/orders/{id}``."""

    service: str
    method: str
    template: str


class UseOf(Struct, frozen=True):
    """What a permission code stands for."""

    code: str


Question: TypeAlias = RequestTo | RequestsTo | UseOf


def question_of(action: str, resource: Resource, bound_to: str | None) -> Question | Unanswerable:
    """Return what is asked by an account that is bound to the service ``bound_to``, or to none.

    A route is of the service that it names, else of that of the account, else of this one.
    """
    if resource.type == ROUTE:
        return _route(action, resource, bound_to)
    parts = resource.id if resource.type == PERMISSION else _joined(resource.type, resource.id, action)
    if parts is None or not is_code(parts):
        return "no_code"
    return UseOf(parts)


def _joined(*parts: str) -> str | None:
    return ":".join(parts) if all(map(_PART.fullmatch, parts)) else None


def service_of(resource: Resource, bound_to: str | None) -> str:
    """Return the service of a route: the one that it names, else that of the account, else this one."""
    return resource.service or bound_to or PORTCULLIS


def _route(method: str, resource: Resource, bound_to: str | None) -> Question | Unanswerable:
    service = service_of(resource, bound_to)
    if resource.service == "" or NAME.fullmatch(service) is None:
        return "unknown_service"
    external, path = service != PORTCULLIS, resource.id
    if "{" in path and len(path) <= MAX_REGISTERED_PATH:
        if registered_fault(path, may_end_in_slash=external) is None and shape(path) != path:
            return RequestsTo(service, method, path)
        return "not_canonical"
    try:
        return RequestTo(service, method, (canonical_external_path if external else canonical)(path))
    except BadRequest:
        return "not_canonical"
