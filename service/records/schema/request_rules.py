"""The rules by which roles are asked for."""

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY

from service.records.schema.base import filled, metadata, versioned
from service.records.schema.rights import role

request_rule = sa.Table(
    "request_rule",
    metadata,
    sa.Column("role_id", sa.ForeignKey(role.c.id, ondelete="CASCADE"), primary_key=True),
    # A permission code, or @login.
    filled("requestable_by"),
    # Each stage, in order: the code of its approvers, and their required number.
    sa.Column("stage_codes", ARRAY(sa.Text), nullable=False),
    sa.Column("stage_approvals", ARRAY(sa.Integer), nullable=False),
    # In seconds: the maximum duration of the role, and the time for which a request waits for approvals.
    sa.Column(
        "max_duration",
        sa.Integer,
        sa.CheckConstraint("max_duration > 0", name="max_duration"),
        nullable=False,
    ),
    sa.Column(
        "pending_timeout",
        sa.Integer,
        sa.CheckConstraint("pending_timeout > 0", name="pending_timeout"),
        nullable=False,
    ),
    sa.Column("reason_required", sa.Boolean, nullable=False),
    sa.Column("grant_needed", sa.Boolean, nullable=False),
    sa.Column(
        "assurance",
        sa.Text,
        sa.CheckConstraint(
            "assurance ~ '^(login|two-factors|phishing-resistant)(-within-(15m|12h))?$'", name="assurance"
        ),
    ),
    sa.Column(
        "emergency",
        sa.Boolean,
        # By two factors at least: no approval precedes it.
        sa.CheckConstraint(
            "NOT emergency OR coalesce(assurance ~ '^(two-factors|phishing-resistant)', false)",
            name="emergency",
        ),
        nullable=False,
    ),
    # Its creator or last editor; null for the operator. No foreign key: it outlives the account.
    sa.Column("author_id", sa.BigInteger),
    # It has no lines: its author may not grant codes that the role has gained.
    sa.Column("suspended", sa.Boolean, nullable=False, server_default=sa.false()),
    *versioned(),
    sa.CheckConstraint(
        "cardinality(stage_codes) BETWEEN 1 AND 5 AND cardinality(stage_approvals) = cardinality(stage_codes)"
        " AND 1 <= ALL (stage_approvals) AND 9 >= ALL (stage_approvals)",
        name="stages",
    ),
)
