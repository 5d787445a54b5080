"""``sys.login_log``: logins and other events of sessions."""

from __future__ import annotations

from datetime import datetime
from typing import Literal
from uuid import UUID

from msgspec import Struct, field

from service.kernel.clock import now
from service.kernel.event_ids import new_event_id

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
"""What happened to a session, by which the log is filtered."""


class LoginEvent(Struct, frozen=True, kw_only=True):
    """An event of a session, successful or not.

    ``event`` is a ``SessionEvent``; ``reason`` is the code of the refusal if it
    failed. ``login_ip`` is an address as text. ``event_id`` and ``create_time`` are set when it is created.
    """

    event: str
    outcome: Literal["success", "failure"]
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
