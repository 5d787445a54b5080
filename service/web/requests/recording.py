"""Entries of the operation log: all of a call except secrets and input that was not understood.

Values are kept only if they parse into the types of the operation, and no rule rejects them. A rejected body,
an unknown parameter, or text in place of an id may be a password in the wrong field. The fields named by the
refusal are kept instead.
"""

import re
from collections.abc import Mapping
from functools import cache
from time import perf_counter
from typing import Any, Final, NamedTuple, cast

import msgspec

from service.audit.collector import RefusedReads
from service.audit.redaction import is_sensitive, kept, kept_changes, redacted_query
from service.errors import ValidationFailed
from service.kernel.clock import new_event_id, now
from service.kernel.text import printable
from service.records.logs.events import REFUSED_READ, DeclaredKind, OperationEvent
from service.web.content.streams import Stream
from service.web.messages.context import RequestContext
from service.web.messages.dry_run import is_dry_run
from service.web.messages.operation_metadata import Logged, Operation, Signature
from service.web.messages.schema import Document, Members, members_of
from service.web.requests.problems import document

UNANSWERED: Final = 499
"""The status of a call that ended without an answer, as proxies log it; its error is ``unanswered``."""

REPLAY: Final[DeclaredKind] = "QUERY"
"""The kind of a call whose answer was kept from an earlier one: it only reads."""

_REFUSED: Final = 400
_HIDDEN: Final = "\u2026"
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ID: Final = re.compile(r"[1-9][0-9]{0,18}")
_UNNAMED: Final = (None, Document, Stream)
"""Types without members; answers that are not JSON are not kept."""


class Recording:
    """Records calls of one operation; everything static is computed once."""

    def __init__(self, operation: Operation, logged: Logged) -> None:
        """``logged`` describes the calls: the metadata of ``operation``, or what stands for it."""
        signature = operation.signature
        self._logged = logged
        self._method = operation.method
        self._template = operation.template
        self._segments = operation.template.split("/") if signature.path else []
        # The path of a public route may contain a credential.
        self._path = {
            name: kind
            for name, kind in signature.path.items()
            if not (operation.public or is_sensitive(name))
        }
        self._has_input = any((self._path, signature.query, signature.body))
        self._query, given, answer = _members_in(signature)
        self._names = given.names | {"body", "query", "row", *signature.path}
        self.redacts_params = given.sensitive
        self.redacts_response = answer.sensitive
        self.keeps_answer = logged.response and signature.answer not in _UNNAMED

    def event(self, context: RequestContext, /, *, with_data: bool = True) -> OperationEvent:
        """Return the entry of the request ``context``; ``with_data`` is False while it is being served."""
        logged = self._logged
        caller = context.caller or context.session_of
        decision = context.decision
        policy = decision or context.policy
        recorded = context.recorded
        changes = recorded.changes if recorded else ()
        key = recorded.entry if recorded else None
        return OperationEvent(
            module=logged.module,
            action=f"{logged.action} (answered again)" if context.replayed else logged.action,
            kind=REPLAY if context.replayed else logged.kind,
            method=self._method,
            url=self._url(context) if self._segments else self._template,
            query=self._query_of(context),
            client_ip=context.address or None,
            user_agent=context.user_agent or None,
            params=self._params(context) if with_data and logged.params and self._has_input else None,
            response=self._response(context) if with_data and logged.response else None,
            status=context.status or UNANSWERED,
            error=_error(context),
            elapsed_ms=round((perf_counter() - context.started) * 1000, 3),
            decision=None if decision is None else "allow" if decision.allowed else "deny",
            decision_id=None if decision is None else decision.id,
            policy_revision=None if policy is None else policy.revision,
            request_id=context.request_id,
            user_id=None if caller is None else caller.user_id,
            user_name=None if caller is None else caller.user_name,
            device=None if caller is None else caller.device,
            targets=(recorded.targets or None) if recorded else None,
            changes=kept_changes(changes) if changes else None,
            change_count=len(changes) or None,
            trace_id=context.trace_id or None,
            dry_run=is_dry_run(context) or None,
            event_id=key[0] if key else new_event_id(),
            create_time=key[1] if key else now(),
        )

    def _url(self, context: RequestContext) -> str:
        """Return the path; parts that may be secret or were not understood as in the template."""
        shown = self._understood_path(context)
        segments = context.scope["path"].split("/")
        return "/".join(
            name if name.startswith("{") and name[1:-1] not in shown else printable(segment)
            for name, segment in zip(self._segments, segments, strict=True)
        )

    def _understood_path(self, context: RequestContext) -> dict[str, Any]:
        """Return the parsed path arguments: ids, and text if the call succeeded."""
        succeeded = 0 < context.status < _REFUSED
        understood: dict[str, Any] = {}
        for name, kind in self._path.items():
            value = context.arguments[name]
            if kind is int and isinstance(value, str):  # the call was refused before it was parsed
                value = int(value) if _ID.fullmatch(value) else value
            if succeeded or isinstance(value, int):
                understood[name] = value
        return understood

    def _query_of(self, context: RequestContext) -> str | None:
        if not (given := cast(bytes, context.scope["query_string"])):
            return None
        query = given.decode("ascii")
        if "query" in _understood(context):
            return redacted_query(query)
        # Refused, or not parsed because the call was refused: only the names of known parameters.
        names = (part.partition("=")[0] for part in query.split("&"))
        return "&".join(f"{name}={_HIDDEN}" for name in dict.fromkeys(names) if name in self._query.names)

    def _params(self, context: RequestContext) -> Any:
        arguments = _understood(context)
        params: dict[str, Any] = {"path": path} if (path := self._understood_path(context)) else {}
        if context.scope["query_string"] and "query" in arguments:  # else it holds nothing but defaults
            params["query"] = arguments["query"]
        if "body" in arguments:
            params["body"] = arguments["body"]
        return kept(msgspec.json.encode(params, enc_hook=str), redact=self.redacts_params) if params else None

    def _response(self, context: RequestContext) -> Any:
        if (refusal := context.refusal) is not None:
            problem = msgspec.json.decode(document(refusal, context.request_id, context.trace_id))
            if isinstance(refusal, ValidationFailed):
                problem["errors"] = [self._known(error) for error in problem["errors"]]
            return kept(msgspec.json.encode(problem), redact=True)
        return kept(context.answer, redact=self.redacts_response) if context.answer else None

    def _known(self, error: Mapping[str, Any]) -> dict[str, Any]:
        """Return a fault of a field, without the names of unknown fields."""
        known = self._names.issuperset(_NAME.findall(error["field"]))
        return {**error, "field": error["field"] if known else _HIDDEN}


def _understood(context: RequestContext) -> Mapping[str, Any]:
    """Return query and body as they were parsed; neither if a rule has refused one of them after that.

    A password in the field of a name breaks the rule for names, whichever part of the service knows it.
    """
    return {} if isinstance(context.refusal, ValidationFailed) else context.arguments


def note_refused_read(reads: RefusedReads, context: RequestContext) -> None:
    """Pass a policy denial to ``reads``, for a request whose operation is not logged.

    Unknown callers have no entry. A repetition has the same operation, user and decision.
    """
    operation = context.operation
    caller = context.caller
    decision = context.decision
    if operation is not None and caller is not None and decision is not None:
        same = (caller.user_id, operation.object, decision.id)
        reads.note(same, lambda: _recording_of_reads(operation).event(context))


@cache
def _recording_of_reads(operation: Operation) -> Recording:
    """Return the recording of refusals of ``operation``, under its names in path and document."""
    name = operation.metadata.operation_id or operation.object
    return Recording(operation, Logged(operation.noun, name, REFUSED_READ, params=False, response=False))


def _error(context: RequestContext) -> str | None:
    if context.cut_off:
        return "cut_off"
    if not context.status:
        return "unanswered"
    return None if context.refusal is None else context.refusal.code


class SensitiveParts(NamedTuple):
    """Parts of an operation that may hold a secret: the input and the answer."""

    given: bool
    answer: bool


def sensitive_parts(signature: Signature) -> SensitiveParts:
    """Return which parts of an operation with ``signature`` may hold a secret, by the names of members."""
    _, given, answer = _members_in(signature)
    return SensitiveParts(given.may_be_secret, answer.may_be_secret)


@cache
def _members_in(signature: Signature) -> tuple[Members, Members, Members]:
    """Return the members of the query, of all input, and of the answer."""
    query, body, answer = (
        Members() if kind in _UNNAMED else members_of(kind)
        for kind in (signature.query, signature.body, signature.answer)
    )
    return query, query.joined(body, *map(members_of, signature.path.values())), answer
