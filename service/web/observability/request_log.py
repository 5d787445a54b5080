"""The line of each request in the log.

It is the only line written thousands of times a second. If the log is JSON, it is encoded here directly, at
half the cost of structlog's layers; otherwise structlog writes it.
"""

import asyncio
import json
import logging
from typing import Any, Final

import msgspec
import structlog
from msgspec import Struct

from service.errors import Overloaded
from service.web.messages.context import RequestContext
from service.web.messages.operation_metadata import Operation
from service.web.observability.log_format import clock, json_line, json_output

_SERVER_FAULTS: Final = 500
_CLIENTS_DOING: Final = 501  # clients can cause 501 at will, and would fill the log with faults


class _Line(Struct, omit_defaults=True):
    """The fields of the line, as structlog would write them; ``ms`` is the duration in milliseconds."""

    event: str
    level: str
    time: str
    request_id: str
    method: str
    path: str | None
    status: int | None
    ms: float
    user_id: int | None = None
    key_id: int | None = None
    denied: str | None = None
    decision: str | None = None
    module: str | None = None
    action: str | None = None
    kind: str | None = None
    replayed: bool | None = None
    trace_id: str | None = None


class RequestLog:
    """Writes the lines of requests; logging must be configured before it is created."""

    def __init__(self) -> None:
        self._log = structlog.get_logger().bind()
        self._output = json_output()
        self._all = self._log.is_enabled_for(logging.INFO)
        self._pending: list[bytes] = []
        self._parts: dict[tuple[Operation, int], tuple[str, str]] = {}

    def write(self, context: RequestContext) -> None:
        """Write the line of the finished request ``context``."""
        if not self._all and not _is_fault(context):
            return
        if self._output is not None:
            if not self._pending:
                asyncio.get_running_loop().call_soon(self._write_pending)
            self._pending.append(self._usual_line(context) or json_line(_line(context)))
            return
        line = _line(context)
        fields: dict[str, Any] = msgspec.to_builtins(line)
        for name in ("time", "request_id"):
            del fields[name]
        fields.pop("trace_id", None)
        getattr(self._log, fields.pop("level"))(**fields)

    def _usual_line(self, context: RequestContext) -> bytes | None:
        """Return the line of an admitted request of a user; None for any other, whose members may differ."""
        operation, status = context.operation, context.status
        caller = context.caller
        decision = context.decision
        if (
            caller is None
            or caller.key_id is not None
            or decision is None
            or not decision.allowed
            or operation is None
            or not 0 < status < _SERVER_FAULTS
            or context.replayed
            or context.scope["method"] != operation.method
        ):
            return None
        before, after = self._parts.get((operation, status)) or self._described(operation, status)
        trace = f',"trace_id":"{context.trace_id}"' if context.trace_id else ""
        return (
            f'{{"event":"request","level":"info","time":"{clock.text()}","request_id":"{context.request_id}"'
            f'{before}{context.took * 1000:.2f},"user_id":{caller.user_id}{after}{trace}}}'
        ).encode("ascii")

    def _described(self, operation: Operation, status: int) -> tuple[str, str]:
        """Return, and keep, what such lines have between the id and the duration, and after the user."""
        logged = operation.metadata.logged
        last = (
            {} if logged is None else {"module": logged.module, "action": logged.action, "kind": logged.kind}
        )
        method, template = json.dumps(operation.method), json.dumps(operation.template)
        after = "".join(f",{json.dumps(name)}:{json.dumps(text)}" for name, text in last.items())
        before = f',"method":{method},"path":{template},"status":{status},"ms":'
        parts = self._parts[operation, status] = before, after
        return parts

    def _write_pending(self) -> None:
        """Write the lines of all requests of this iteration of the loop, in one system call."""
        lines, self._pending = self._pending, []
        if self._output is not None:
            self._output(b"\n".join(lines))


def _is_fault(context: RequestContext) -> bool:
    """Return whether the answer reports a fault of the service that clients can't cause at will."""
    status = context.status
    return (
        status >= _SERVER_FAULTS and status != _CLIENTS_DOING and not isinstance(context.refusal, Overloaded)
    )


def _line(context: RequestContext) -> _Line:
    operation = context.operation
    decision = context.decision
    status = context.status
    line = _Line(
        "request",
        "error" if _is_fault(context) else "info",
        clock.text(),
        context.request_id,
        context.scope["method"],
        # The template: a path may contain a secret, such as the token of a public link.
        operation.template if operation else None,
        status or None,  # None: the client disconnected before an answer
        round(context.took * 1000, 2),
    )
    if context.caller is not None:
        line.user_id, line.key_id = context.caller.user_id, context.caller.key_id
    if decision is not None and not decision.allowed:
        line.denied = decision.layer
        line.decision = decision.id
    if operation is not None and (logged := operation.metadata.logged) is not None:
        line.module = logged.module
        line.action = logged.action
        line.kind = logged.kind
        line.replayed = context.replayed or None
    line.trace_id = context.trace_id or None
    return line
