"""One request on its way through the service: what is known of it so far."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from random import getrandbits
from time import perf_counter
from types import MappingProxyType
from typing import Any, Final, cast

import falcon.asgi

from service.authz.engine.policy import Decision, Policy
from service.errors import Refusal, Unauthenticated
from service.kernel.identity import Caller
from service.oplog.redaction import redacted_text
from service.records.logs.operation_events import OperationEvent
from service.web.requests.description import Operation
from service.web.requests.request import Request

Scope = dict[str, Any]
"""An ASGI connection scope."""

AddressOf = Callable[[Scope], str]
"""Tells the address of the client of a connection; "" when nobody knows."""

MAX_USER_AGENT: Final = 512
"""How much of a User-Agent is kept, in characters."""

_KEY: Final = "portcullis.call"

# No part of a JSON Web Token: the id is written to logs.
_REQUEST_ID: Final = re.compile(rb"(?!eyJ)[A-Za-z0-9._-]{1,64}")
_FIELD_VALUE: Final = re.compile(r"[\t\x20-\x7e]*")


def peer_address(scope: Scope) -> str:
    """Return the address at the other end of the connection, "" for a unix socket."""
    client = scope.get("client")
    return client[0] if client else ""


class RequestContext:
    """One request; made at the entrance, filled on the way, read when its log line is written.

    ``started`` is in seconds of ``perf_counter``. The gate sets ``policy``, ``caller`` and ``decision``, the
    last it took. ``request`` is the escape hatch for what is not parsed, such as streams. ``arguments`` are
    those of the responder: text from the path until it is read, ``query`` and ``body`` once they have been.
    ``answer`` is the JSON of a success if the operation log keeps it, ``refusal`` what was answered instead;
    ``cut_off`` when an answer broke off in the middle. ``event_of`` makes the entry of a logged operation.
    """

    # What is not set yet is read from the class: a request sets only what it needs.
    request: Request
    operation: Operation | None = None
    policy: Policy | None = None
    caller: Caller | None = None
    decision: Decision | None = None
    arguments: Mapping[str, Any] = MappingProxyType({})
    answer: bytes | None = None
    refusal: Refusal | None = None
    status = 0
    cut_off = False
    event_of: Callable[[RequestContext], OperationEvent] | None = None

    def __init__(self, scope: Scope, address_of: AddressOf = peer_address) -> None:
        self.scope = scope
        self.started = perf_counter()
        self.request_id = _request_id(scope["headers"])
        self.headers: list[tuple[bytes, bytes]] = []
        self._address_of = address_of
        scope[_KEY] = self

    @property
    def user(self) -> Caller:
        """The logged-in caller; Unauthenticated on a public route."""
        if self.caller is None:
            raise Unauthenticated
        return self.caller

    @property
    def address(self) -> str:
        """The address of the client."""
        return self._address_of(self.scope)

    @property
    def user_agent(self) -> str:
        """The User-Agent, at most ``MAX_USER_AGENT`` characters and fit for logs; "" when there is none."""
        return redacted_text((self.request.user_agent or "")[:MAX_USER_AGENT])

    def respond_header(self, name: str, value: str) -> None:
        """Add a header to the response of a call that succeeds; ValueError for a value that is not one line.

        Headers of one name add up, as cookies need.
        """
        if _FIELD_VALUE.fullmatch(value) is None:
            raise ValueError(f"the value of {name} is not visible ASCII on one line")
        self.headers.append((name.lower().encode("ascii"), value.encode("ascii")))


def context_of(request: falcon.asgi.Request) -> RequestContext:
    """Return the call that ``request`` belongs to."""
    return cast(RequestContext, request.scope[_KEY])


def _request_id(headers: list[tuple[bytes, bytes]]) -> str:
    for name, value in headers:
        if name == b"x-request-id" and _REQUEST_ID.fullmatch(value):
            return value.decode("ascii")
    return new_request_id()


def new_request_id() -> str:
    """Return an id for a request that brings none."""
    return f"{getrandbits(64):016x}"
