"""Events that get a log entry: calls of operations, and logins and other events of sessions."""

from datetime import datetime
from typing import Any, Final, Literal
from uuid import UUID

from msgspec import Struct, field

from service.kernel.clock import new_event_id, now

DeclaredKind = Literal[
    "INSERT",
    "UPDATE",
    "DELETE",
    "IMPORT",
    "EXPORT",
    "QUERY",
    "LOGIN",
    "LOGOUT",
    "REFRESH",
    "KICK",
    "BAN",
]
"""Kind of an operation, from its metadata."""

REFUSED_READ: Final = "REFUSED_READ"
"""The kind of a refused request to an operation that is not logged, which changes nothing."""

Decision = Literal["allow", "deny"]
Outcome = Literal["success", "failure"]
OperationKind = Literal[DeclaredKind, "REFUSED_READ"]
"""The kind of an entry, by which the log is filtered."""


class OperationEvent(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One call of a logged operation, successful or not, or refused reads.

    ``module``, ``action`` and ``kind`` come from the operation's metadata. ``client_ip`` is an address as
    text. ``params`` and ``response`` are JSON values, or encoded JSON (``msgspec.Raw``), without secrets.
    ``error`` is the code of the refusal. ``decision`` is the enforcer's answer, if it was asked. ``targets``
    are the records of the call. ``changes`` (JSON, bounded) are its saved changes of them, ``change_count``
    the number of all changes. ``trace_id`` is that of the request's trace, None without tracing. ``dry_run``
    is True for a dry run, else None. ``repetitions`` is the number of refused reads that the entry
    represents, with the details of the first; None for a single call. ``event_id`` and ``create_time`` are
    set when it is created. Its JSON leaves out members that are None.
    """

    module: str
    action: str
    kind: str
    method: str
    url: str
    status: int
    elapsed_ms: float
    query: str | None = None
    client_ip: str | None = None
    user_agent: str | None = None
    params: Any = None
    response: Any = None
    error: str | None = None
    decision: Decision | None = None
    decision_id: str | None = None
    policy_revision: int | None = None
    request_id: str | None = None
    user_id: int | None = None
    user_name: str | None = None
    device: str | None = None
    targets: tuple[str, ...] | None = None
    changes: Any = None
    change_count: int | None = None
    trace_id: str | None = None
    dry_run: bool | None = None
    repetitions: int | None = None
    event_id: UUID = field(default_factory=new_event_id)
    create_time: datetime = field(default_factory=now)


SessionEvent = Literal[
    "login",
    "login_begun",
    "lockout",
    "evict",
    "refresh",
    "reuse",
    "logout",
    "logout_all",
    "session_end",
    "password_change",
    "password_reset",
    "step_up",
    "factor_add",
    "factor_remove",
    "factor_reset",
    "kick",
    "ban",
    "unban",
]
"""Event of a session, by which the log is filtered."""


class LoginEvent(Struct, frozen=True, kw_only=True):
    """An event of a session, successful or not.

    ``event`` is a ``SessionEvent``; ``reason`` is the code of the refusal if it
    failed. ``login_ip`` is an address as text. ``event_id`` and ``create_time`` are set when it is created.
    """

    event: str
    outcome: Outcome
    reason: str | None = None
    user_id: int | None = None
    user_name: str | None = None
    device: str | None = None
    login_ip: str | None = None
    user_agent: str | None = None
    browser: str | None = None
    os: str | None = None
    request_id: str | None = None
    trace_id: str | None = None
    event_id: UUID = field(default_factory=new_event_id)
    create_time: datetime = field(default_factory=now)
