"""The context of one request, filled as it passes through the service."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from time import perf_counter
from types import MappingProxyType
from typing import Any, Final, NamedTuple, Protocol

from service.audit.redaction import redacted_text
from service.authz.engine.policy import Decision, Policy
from service.authz.engine.rules import ENDPOINT, RESOURCE, UNREGISTERED
from service.errors import Decided, Refusal, Unauthenticated, Unavailable
from service.kernel.assurance import Satisfied
from service.kernel.core_sentences import sentence
from service.kernel.identity import Caller
from service.kernel.origin import ChangeRecord, Delegated, ObjectQuestion, Span
from service.kernel.write import DryRun, IdempotentWrite, Write
from service.records.logs.events import OperationEvent
from service.web.messages.operation_metadata import Operation
from service.web.messages.request import Request
from service.web.messages.request_ids import request_ids

Scope = dict[str, Any]
"""An ASGI connection scope."""

AddressOf = Callable[[Scope], str]
"""Returns the address of the client of a connection; "" if unknown."""

NO_STORE: Final = b"no-store"
"""The default of ``Cache-Control``; a responder may allow more (RFC 9111 §5.2.2.5)."""

INERT: Final = b"default-src 'none'; frame-ancestors 'none'"
"""The default of ``Content-Security-Policy``, except for pages: a browser that shows the answer runs nothing,
and puts it in no frame."""

MAX_USER_AGENT: Final = 512
"""Characters of a User-Agent that are kept."""

_FIELD_VALUE: Final = re.compile(r"[\t\x20-\x7e]*")


def peer_address(scope: Scope) -> str:
    """Return the peer address of the connection, "" for a unix socket."""
    client = scope.get("client")
    return client[0] if client else ""


class EventOf(Protocol):
    """Makes the entry of the operation log; ``with_data`` adds what was sent and what was answered."""

    def __call__(self, context: RequestContext, /, *, with_data: bool = True) -> OperationEvent:
        """Return the entry of ``context``."""


class SessionOwner(NamedTuple):
    """The user and the device of a session."""

    user_id: int
    user_name: str
    device: str


class RequestContext:
    """One request; created by the middleware, filled on the way, read when its log line is written.

    ``started`` is in seconds of ``perf_counter``, and ``took`` how many seconds it took, once it is finished.
    ``request_id`` names the request in logs; ``echoed_id`` is the id in the answer: below ``/access/``
    exactly the id that was sent. The guard sets ``policy``, ``caller`` and ``decision``, its latest one;
    ``session_of`` is the owner of the session that a public operation has opened or renewed. ``opened`` is
    that of the resource layer. ``shown`` are decisions without which rows would be left out. ``satisfied``
    are the facts for the layer ``assurance``, as of the admission. ``has_body`` is true if the whole body had
    arrived before the guard was asked. Only then the guard sets ``all_rights``, the epoch of all rights in
    the session store (see ``authn.current_rights``). ``request`` gives access to unparsed parts, such as
    streams. ``arguments`` are those of the responder: path parameters as text until they are parsed,
    ``query`` and ``body`` once they are. ``answer`` is the JSON of a success if the operation log keeps it,
    ``refusal`` the refusal answered instead. ``cut_off`` is true if an answer broke off. ``recorded`` are the
    changes of the request, ``delegated`` its questions about the rights of the caller, ``objects`` further
    allowed questions. ``replayed`` is true if the answer of an earlier request with the same
    ``Idempotency-Key`` is sent again. ``answers_with`` is a status that replaces the operation's; 0 for none.
    ``dry_run`` and ``idempotent`` are parts of ``write``. ``event_of`` makes the entry of a logged operation.
    ``cache_control`` limits caches, ``content_policy`` limits browsers. ``trace_id`` is that of its trace, ""
    without tracing; ``span`` is its span, None if it is not traced.
    """

    # Class attributes are the defaults: a request sets only what it needs.
    request: Request
    operation: Operation | None = None
    policy: Policy | None = None
    caller: Caller | None = None
    session_of: SessionOwner | None = None
    decision: Decided | None = None
    opened: Decided | None = None
    satisfied: Satisfied | None = None
    has_body = False
    all_rights: bytes | None = None
    arguments: Mapping[str, Any] = MappingProxyType({})
    answer: bytes | None = None
    refusal: Refusal | None = None
    status = 0
    answers_with = 0
    took = 0.0
    cut_off = False
    replayed = False
    dry_run: DryRun | None = None
    idempotent: IdempotentWrite | None = None
    trace_id = ""
    span: Span | None = None
    recorded: ChangeRecord | None = None
    delegated: Delegated | None = None
    objects: tuple[ObjectQuestion, ...] = ()
    shown: tuple[Decided, ...] = ()
    event_of: EventOf | None = None
    cache_control = NO_STORE
    content_policy = INERT

    def __init__(self, scope: Scope, address_of: AddressOf = peer_address) -> None:
        self.scope = scope
        self.started = perf_counter()
        self.request_id, self.echoed_id = request_ids(scope["headers"], scope["path"])
        self.headers: list[tuple[bytes, bytes]] = []
        self._address_of = address_of

    @property
    def user(self) -> Caller:
        """The logged-in caller; raises Unauthenticated on a public route."""
        if self.caller is None:
            raise Unauthenticated
        return self.caller

    @property
    def write(self) -> Write:
        """The write that the caller asks for; raises Unauthenticated on a public route.

        Every transaction for a request that may be a dry run or idempotent is begun with it.
        """
        return Write(self.user, self.dry_run, self.idempotent)

    def decide(self, layer: str, object_: str) -> Decision:
        """Ask the policy that admitted the request whether the caller passes an object of a layer.

        For questions after the admission whose answer changes the outcome of the request.
        """
        if self.policy is None:
            raise Unavailable(sentence("no_policy"))
        decision = self.policy.decide(layer, object_, self.user)
        if decision.allowed:
            self.objects = (*self.objects, ObjectQuestion(layer, object_))
        return decision

    def may(self, request: str) -> bool:
        """Return whether the caller may send ``request`` too, such as ``GET /api/operation-log/list``."""
        return self.refusal_of(request) is None

    def refusal_of(self, request: str) -> Decision | None:
        """Return the decision that refuses ``request`` to the caller; None if the caller may send it."""
        if self.policy is None:
            raise Unavailable(sentence("no_policy"))
        resource = self.policy.resource_at(*request.split(" ")) or UNREGISTERED
        for layer, name in ((RESOURCE, resource), (ENDPOINT, request)):
            if not (decision := self.decide(layer, name)).allowed:
                return decision
        demanded = self.policy.judge_assurance(resource, request, self.satisfied)
        return None if demanded.allowed else demanded

    def entry(self) -> OperationEvent | None:
        """Return the entry of the operation log as things stand; None if the operation is not logged."""
        return None if self.event_of is None else self.event_of(self, with_data=False)

    @property
    def acting(self) -> str | None:
        """The name of the caller; None on a public route."""
        return None if self.caller is None else self.caller.user_name

    @property
    def address(self) -> str:
        return self._address_of(self.scope)

    @property
    def user_agent(self) -> str:
        """The User-Agent, redacted and at most ``MAX_USER_AGENT`` characters; "" if there is none."""
        return redacted_text((self.request.user_agent or "")[:MAX_USER_AGENT])

    def respond_header(self, name: str, value: str) -> None:
        """Add a header to the response of a success; raises ValueError for a value that is not one line.

        Several headers of one name are kept, as cookies need; ``Content-Security-Policy`` takes the place of
        ``content_policy``.
        """
        if _FIELD_VALUE.fullmatch(value) is None:
            raise ValueError(f"the value of {name} is not visible ASCII on one line")
        header, sent = name.lower(), value.encode("ascii")
        if header == "content-security-policy":
            self.content_policy = sent
        else:
            self.headers.append((header.encode("ascii"), sent))

    def tell_location(self, operation: Operation, arguments: Mapping[str, Any], made: Any) -> None:
        """Set the ``Location`` of ``made``, the answer of ``operation`` to a request with ``arguments``.

        The last field of the template in ``created`` is its ``id``, the others are arguments (RFC 9110
        §15.3.2). A responder may have set it already.
        """
        template = operation.metadata.location
        if template and not any(name == b"location" for name, _ in self.headers):
            above, _, _ = template.rpartition("{")
            self.respond_header("Location", f"{above.format(**arguments)}{made.id}")
