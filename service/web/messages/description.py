"""Operations as data: one method of one URI template, with its operation metadata and types.

The guard, the logs and the OpenAPI document read it; ``operation`` serves it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from msgspec import Struct

from service.authz.engine.rules import ANYONE
from service.web.messages.operation_metadata import OperationMetadata

ACCESS: Final = "/access/"
"""The prefix of what other services ask."""
GROUPS: Final = ("/api/", ACCESS, "/oauth/")
"""The groups: prefixes of the templates of all guarded routes."""


@dataclass(frozen=True, slots=True, eq=False)
class Signature:
    """The types of a responder; ``body`` and ``query`` are None if it takes none.

    Each function at each template has one signature per process, compared and hashed by identity.
    """

    body: type[Struct] | None
    query: type[Struct] | None
    path: Mapping[str, Any]
    answer: Any


@dataclass(frozen=True, eq=False)
class Operation:
    """One method of one URI template.

    ``access`` has the codes that its lines of the endpoint layer must have, empty if nothing was declared.
    ``name`` is the qualified name of the responder, for messages; ``summary`` and ``description`` are its
    docstring. ``status`` is the status of a success.
    """

    method: str
    template: str
    access: tuple[str, ...]
    metadata: OperationMetadata
    signature: Signature
    status: int
    name: str
    summary: str
    description: str

    @cached_property
    def object(self) -> str:
        """The object of its lines in the endpoint layer, such as ``GET /api/role/{id}``."""
        return f"{self.method} {self.template}"

    @cached_property
    def noun(self) -> str:
        """Return its noun, such as ``role``: the first segment of its template, of ``/api/`` the second."""
        return self.template.removeprefix(GROUPS[0]).strip("/").partition("/")[0]

    @cached_property
    def in_group(self) -> bool:
        """True if its route is in a group, so that every request passes the guard."""
        return self.template.startswith(GROUPS)

    @cached_property
    def conditional(self) -> bool:
        """True if it is answered 304 to a client that already has the answer, by ``If-None-Match``."""
        return self.method == "GET" and self.metadata.tagged and not self.metadata.shows_more

    @cached_property
    def public(self) -> bool:
        """True if it needs no session."""
        return self.access == (ANYONE,)
