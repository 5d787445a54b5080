"""Requests for roles, and what people decided about them."""

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY

from service.records.schema.base import chosen, filled, identity, metadata, moment

STATES = ("pending", "approved", "denied", "expired", "cancelled", "failed")
"""What becomes of a request: it leaves the first one once, for ever; a trigger keeps it so."""

# Kept when its author or the role is deleted: no foreign keys.
access_request = sa.Table(
    "access_request",
    metadata,
    identity(),
    sa.Column("user_id", sa.BigInteger, nullable=False),
    filled("user_name"),
    sa.Column("role_id", sa.BigInteger, nullable=False),
    filled("role_code"),
    chosen("state", *STATES, nullable=False, server_default=STATES[0]),
    sa.Column("emergency", sa.Boolean, nullable=False, server_default=sa.false()),
    # What is asked for: from then on, null for at once; until then, or for so many seconds.
    sa.Column("valid_from", sa.DateTime(timezone=True)),
    sa.Column("valid_until", sa.DateTime(timezone=True)),
    sa.Column("duration", sa.Integer, sa.CheckConstraint("duration > 0", name="duration")),
    sa.Column("reason", sa.Text),
    sa.Column("ticket", sa.Text),
    # The refusal that it came from, and the decision that its author may ask.
    sa.Column("decision_id", sa.Text),
    filled("asked_decision_id"),
    # The stages of the rule, which stay while it is pending.
    sa.Column("stage_codes", ARRAY(sa.Text), nullable=False),
    sa.Column("stage_approvals", ARRAY(sa.Integer), nullable=False),
    sa.Column("grant_needed", sa.Boolean, nullable=False),
    # What the role could give when it was asked for; null for requests from before this was kept.
    sa.Column("role_permissions", ARRAY(sa.Text)),
    # All stages have passed: it waits for its beginning.
    sa.Column("complete", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Column("create_time", sa.DateTime(timezone=True), nullable=False),
    sa.Column("deadline", sa.DateTime(timezone=True), nullable=False),
    sa.Column("end_time", sa.DateTime(timezone=True)),
    sa.Column("ended_by", sa.Text),
    sa.Column("end_reason", sa.Text),
    sa.Column("assignment_id", sa.BigInteger),
    # From when until when it was given.
    sa.Column("granted_from", sa.DateTime(timezone=True)),
    sa.Column("granted_until", sa.DateTime(timezone=True)),
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

access_decision = sa.Table(
    "access_decision",
    metadata,
    identity(),
    sa.Column("request_id", sa.ForeignKey(access_request.c.id, ondelete="CASCADE"), nullable=False),
    sa.Column("user_id", sa.BigInteger, nullable=False),
    filled("user_name"),
    # An emergency is closed afterwards, once.
    chosen("decision", "approve", "deny", "close", nullable=False),
    sa.Column("reason", sa.Text, nullable=False),
    # An approval may shorten what was asked for.
    sa.Column("valid_until", sa.DateTime(timezone=True)),
    # The stages that it was entitled to decide, from 1, and the decisions about each.
    sa.Column("stages", ARRAY(sa.Integer), nullable=False),
    sa.Column("decision_ids", ARRAY(sa.Text), nullable=False),
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

# To whom somebody of the author's person gave what it takes to approve, while the request was open.
access_request_appointee = sa.Table(
    "access_request_appointee",
    metadata,
    sa.Column("request_id", sa.ForeignKey(access_request.c.id, ondelete="CASCADE"), primary_key=True),
    sa.Column("user_id", sa.BigInteger, primary_key=True, index=True, autoincrement=False),
    moment("create_time"),
)
