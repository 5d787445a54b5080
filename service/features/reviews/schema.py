"""Reviews of assignments of roles, the items that they ask about, and the revisions that were signed off."""

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

from service.records.schema.base import chosen, filled, identity, metadata, moment

STATES = ("open", "closing", "closed")
"""What becomes of a review: nothing is decided from the second on, and nothing changes in the last."""

# Kept when its author or a user of it is deleted: no foreign keys to these.
review = sa.Table(
    "review",
    metadata,
    identity(),
    filled("title"),
    # Which assignments it asks about, as it was asked for.
    sa.Column("scope", JSONB, nullable=False),
    # Who decides: these alone, and who holds this code besides; null for no such limit.
    sa.Column("reviewer_ids", ARRAY(sa.BigInteger)),
    sa.Column("reviewer_code", sa.Text),
    chosen("on_silence", "revoke", "keep", nullable=False),
    chosen("apply", "at_once", "at_end", nullable=False),
    sa.Column("deadline", sa.DateTime(timezone=True), nullable=False),
    chosen("state", *STATES, nullable=False, server_default=STATES[0]),
    sa.Column("author_id", sa.BigInteger, nullable=False),
    filled("author_name"),
    # What each role of it opens, and the statements that it takes part in, by the code of the role.
    sa.Column("roles", JSONB, nullable=False),
    sa.Column("policy_revision", sa.BigInteger, nullable=False),
    sa.Column("create_time", sa.DateTime(timezone=True), nullable=False),
    # When its closing has begun, who has closed it (null: its deadline), and when that had ended.
    sa.Column("close_time", sa.DateTime(timezone=True)),
    sa.Column("closed_by", sa.Text),
    sa.Column("end_time", sa.DateTime(timezone=True)),
    sa.CheckConstraint("(state = 'open') = (close_time IS NULL)", name="close_time"),
    sa.CheckConstraint("(state = 'closed') = (end_time IS NOT NULL)", name="end_time"),
    sa.Index("review_deadline_idx", "deadline", postgresql_where=sa.text("state <> 'closed'")),
)

review_item = sa.Table(
    "review_item",
    metadata,
    identity(),
    sa.Column("review_id", sa.ForeignKey(review.c.id), nullable=False),
    # The assignment as it was when the review began.
    sa.Column("user_id", sa.BigInteger, nullable=False),
    filled("user_name"),
    sa.Column("role_id", sa.BigInteger, nullable=False),
    filled("role_code"),
    sa.Column("assignment_id", sa.BigInteger, nullable=False),
    sa.Column("valid_from", sa.DateTime(timezone=True)),
    sa.Column("valid_until", sa.DateTime(timezone=True)),
    sa.Column("reason", sa.Text),
    chosen("source", "direct", "request", "directory", nullable=False),
    sa.Column("given_time", sa.DateTime(timezone=True)),
    sa.Column("given_by", sa.Text),
    sa.Column("request_id", sa.BigInteger),
    sa.Column("last_used", sa.Date),
    # What use and the account say for it; null where nothing is known.
    chosen("proposal", "keep", "revoke"),
    filled("ground"),
    # Why silence never revokes it.
    chosen("finding", "no_reviewer", "last_administrator", "directory"),
    # What somebody has decided, or the rule for silence.
    chosen("decision", "keep", "shorten", "revoke"),
    sa.Column("until", sa.DateTime(timezone=True)),
    sa.Column("decision_reason", sa.Text),
    sa.Column("reviewer_id", sa.BigInteger),
    sa.Column("reviewer_name", sa.Text),
    sa.Column("decision_ids", ARRAY(sa.Text)),
    sa.Column("decision_time", sa.DateTime(timezone=True)),
    sa.Column("decision_entry", sa.Text),
    # What has become of it, why not what was decided, and the id of the entry in the operation log.
    chosen("outcome", "kept", "shortened", "revoked", "ended", "refused"),
    sa.Column("outcome_reason", sa.Text),
    sa.Column("outcome_time", sa.DateTime(timezone=True)),
    sa.Column("outcome_entry", sa.Text),
    sa.UniqueConstraint("review_id", "assignment_id"),
    sa.CheckConstraint("(decision IS NULL) = (decision_time IS NULL)", name="decision_time"),
    sa.CheckConstraint("(decision IS NOT DISTINCT FROM 'shorten') = (until IS NOT NULL)", name="until"),
    sa.CheckConstraint(
        "(outcome IS NULL) = (outcome_time IS NULL) AND (outcome IS NULL OR decision IS NOT NULL)",
        name="outcome_time",
    ),
    sa.Index("review_item_review_id_id_idx", "review_id", "id"),
    sa.Index("review_item_pending_idx", "review_id", "id", postgresql_where=sa.text("outcome IS NULL")),
    sa.Index("review_item_user_id_idx", "user_id"),
)

policy_sign_off = sa.Table(
    "policy_sign_off",
    metadata,
    identity(),
    sa.Column("revision", sa.BigInteger, nullable=False, index=True),
    filled("title"),
    sa.Column("note", sa.Text),
    sa.Column("user_id", sa.BigInteger, nullable=False),
    filled("user_name"),
    moment("create_time"),
    sa.Index("policy_sign_off_user_id_id_idx", "user_id", "id"),
)
