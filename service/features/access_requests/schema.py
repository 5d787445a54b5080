"""Requests for roles, and decisions about requests."""

from datetime import datetime
from typing import Annotated, Final, Literal, TypeAlias, get_args

import sqlalchemy as sa
from msgspec import Meta, Struct
from sqlalchemy.dialects.postgresql import ARRAY

from service.kernel.request_objects import Stage
from service.kernel.value_rules import Id, RoleCode, UserName
from service.records.schema.base import chosen, filled, identity, metadata, moment, table_of

State: TypeAlias = Literal["pending", "approved", "denied", "expired", "cancelled", "failed"]
"""State of a request. A request leaves ``pending`` once and permanently; a trigger enforces this."""
Verdict: TypeAlias = Literal["approve", "deny"]
"""A decision about a pending request."""

STATES: Final = get_args(State)


class NewRequest(Struct, frozen=True, kw_only=True):
    """A new request for a role, from ``valid_from`` on; None for an immediate start.

    Exactly one of ``valid_until`` and ``duration`` (seconds) is set. ``decision_id`` names the refusal that
    led to the request, ``asked_decision_id`` the decision that allowed it. Other fields are copied from the
    rule.
    """

    user_id: Id
    user_name: UserName
    role_id: Id
    role_code: RoleCode
    emergency: bool
    valid_from: datetime | None
    valid_until: datetime | None
    duration: int | None
    reason: str | None
    ticket: str | None
    decision_id: str | None
    asked_decision_id: Annotated[str, Meta(description="The id of the decision that allowed the request.")]
    stage_codes: tuple[str, ...]
    stage_approvals: tuple[int, ...]
    grant_needed: bool
    create_time: datetime
    deadline: Annotated[datetime, Meta(description="The expiry of a pending request.")]

    @property
    def stages(self) -> tuple[Stage, ...]:
        """Return the stages, in order."""
        return tuple(map(Stage, self.stage_codes, self.stage_approvals))


class AccessRequest(NewRequest, frozen=True, kw_only=True):
    """A request. ``complete``: all stages have passed, and the request waits for its start.

    ``end_time`` is set once the request has ended; ``ended_by`` is the deciding user, or None. Approved
    requests have an ``assignment_id`` and the validity interval of the grant.
    """

    id: Id
    state: State
    complete: bool
    end_time: datetime | None
    ended_by: str | None
    end_reason: str | None
    assignment_id: Annotated[Id | None, Meta(description="The id of the resulting assignment.")]
    granted_from: datetime | None
    granted_until: datetime | None
    version: Annotated[int, Meta(ge=1)]


# No foreign keys: the row is kept when the author or the role is deleted.
access_request = table_of(
    AccessRequest,
    "access_request",
    identity(),
    filled("user_name"),
    filled("role_code"),
    chosen("state", *STATES, nullable=False, server_default=STATES[0]),
    sa.Column("emergency", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Column("duration", sa.Integer, sa.CheckConstraint("duration > 0", name="duration")),
    filled("asked_decision_id"),
    sa.Column("stage_approvals", ARRAY(sa.Integer), nullable=False),
    # The role's codes at the time of the request; null for older requests.
    sa.Column("role_permissions", ARRAY(sa.Text)),
    sa.Column("complete", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Column("version", sa.Integer, nullable=False, server_default=sa.text("1")),
    sa.CheckConstraint("(valid_until IS NULL) <> (duration IS NULL)", name="lasting"),
    sa.CheckConstraint("(state = 'pending') = (end_time IS NULL)", name="ended"),
    sa.CheckConstraint("(state = 'approved') = (assignment_id IS NOT NULL)", name="assignment_id"),
    sa.CheckConstraint(
        "num_nonnulls(granted_from, granted_until) = CASE state WHEN 'approved' THEN 2 ELSE 0 END",
        name="granted",
    ),
    sa.Index(
        "access_request_pending_key",
        "user_id",
        "role_id",
        unique=True,
        postgresql_where=sa.text("state = 'pending'"),
    ),
    sa.Index("access_request_user_id_id_idx", "user_id", "id"),
    sa.Index("access_request_role_code_id_idx", "role_code", "id"),
    sa.Index("access_request_deadline_idx", "deadline", postgresql_where=sa.text("state = 'pending'")),
    sa.Index("access_request_end_time_idx", "end_time", postgresql_where=sa.text("end_time IS NOT NULL")),
    sa.Index("access_request_emergency_idx", "user_id", postgresql_where=sa.text("emergency")),
    sa.Index(
        "access_request_assignment_id_key",
        "assignment_id",
        unique=True,
        postgresql_where=sa.text("assignment_id IS NOT NULL"),
    ),
)


class AccessDecision(Struct, frozen=True, kw_only=True):
    """A decision about a request; an approval can shorten the grant.

    ``stages`` are the numbers, from 1, of the stages that the user could decide, and ``decision_ids`` the
    decisions that allowed this. ``close`` occurs once, for an emergency.
    """

    user_id: Id
    user_name: Annotated[str, Meta(examples=["kestrel"])]
    decision: Verdict | Literal["close"]
    reason: str
    valid_until: datetime | None
    stages: tuple[int, ...]
    decision_ids: tuple[str, ...]
    create_time: datetime


access_decision = table_of(
    AccessDecision,
    "access_decision",
    identity(),
    sa.Column("request_id", sa.ForeignKey(access_request.c.id, ondelete="CASCADE"), nullable=False),
    filled("user_name"),
    chosen("decision", *get_args(Verdict), "close", nullable=False),
    sa.Column("stages", ARRAY(sa.Integer), nullable=False),
    moment("create_time"),
    sa.UniqueConstraint("request_id", "user_id"),
    sa.Index(
        "access_decision_closing_key",
        "request_id",
        unique=True,
        postgresql_where=sa.text("decision = 'close'"),
    ),
    sa.Index(None, "user_id"),
)

# Users who got an approver's rights from an account of the author's person while the request was open.
access_request_appointee = sa.Table(
    "access_request_appointee",
    metadata,
    sa.Column("request_id", sa.ForeignKey(access_request.c.id, ondelete="CASCADE"), primary_key=True),
    sa.Column("user_id", sa.BigInteger, primary_key=True, index=True, autoincrement=False),
    moment("create_time"),
)
