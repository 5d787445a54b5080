"""Tables of events about rights: events, assignments that begin later, and the state of destinations."""

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB

from service.records.schema.base import filled, identity, metadata, moment

# Events are recorded while the row is there; at most one row.
rights_event_recording = sa.Table(
    "rights_event_recording",
    metadata,
    sa.Column(
        "only_row",
        sa.Boolean,
        sa.CheckConstraint("only_row", name="only_row"),
        primary_key=True,
        server_default=sa.true(),
    ),
    moment("since_time"),
)


def _event() -> tuple[sa.Column[object], ...]:
    return (
        sa.Column("kind", sa.Text, nullable=False),
        # The user whom it is about; null for a role or the policy. No foreign key: the user may be deleted.
        sa.Column("user_id", sa.BigInteger),
        sa.Column("event_time", sa.DateTime(timezone=True), nullable=False),
        # Ids, codes and names of roles, and times; no other names.
        sa.Column("data", JSONB, nullable=False),
    )


# Written by triggers, in the transaction of the cause. Ids of transactions that overlap are in no order.
rights_event_new = sa.Table(
    "rights_event_new",
    metadata,
    identity(),
    sa.Column("event_id", sa.Uuid, nullable=False, server_default=sa.text("gen_random_uuid()")),
    *_event(),
)
rights_event_new.c.event_time.server_default = sa.DefaultClause(sa.text("clock_timestamp()"))

# Moved from there by one transaction at a time, so that positions rise in the order of their commits.
rights_event = sa.Table(
    "rights_event",
    metadata,
    sa.Column("position", sa.BigInteger, sa.Identity(always=True), primary_key=True),
    sa.Column("event_id", sa.Uuid, nullable=False, unique=True),
    *_event(),
    sa.Index("rights_event_user_id_position_idx", "user_id", "position"),
    sa.Index("rights_event_event_time_idx", "event_time"),
)

# Assignments that begin later, by a trigger. No foreign key: the assignment may end before.
rights_event_due = sa.Table(
    "rights_event_due",
    metadata,
    sa.Column("assignment_id", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("due_time", sa.DateTime(timezone=True), nullable=False, index=True),
)

rights_event_destination = sa.Table(
    "rights_event_destination",
    metadata,
    filled("name", primary_key=True),
    # The worker that holds the lease, until lease_time; then another worker may take it.
    sa.Column("worker", sa.Text),
    sa.Column("lease_time", sa.DateTime(timezone=True)),
    # The position of the last event that was sent, or need not be.
    sa.Column("position", sa.BigInteger, nullable=False),
    # Failed attempts for the next event: the first one, the reason of the last, and the time of the next.
    sa.Column("failures", sa.Integer, nullable=False, server_default=sa.text("0")),
    sa.Column("failing_time", sa.DateTime(timezone=True)),
    sa.Column("reason", sa.Text),
    sa.Column("retry_time", sa.DateTime(timezone=True)),
    # When the receiver has answered 410: nothing is sent until a replay.
    sa.Column("stop_time", sa.DateTime(timezone=True)),
    sa.Column("success_time", sa.DateTime(timezone=True)),
    # Accepted events, and events that were deleted before they were sent.
    sa.Column("sent", sa.BigInteger, nullable=False, server_default=sa.text("0")),
    sa.Column("missed", sa.BigInteger, nullable=False, server_default=sa.text("0")),
)

# Events that a destination has not accepted, and that it gets again only on request.
rights_event_dead_letter = sa.Table(
    "rights_event_dead_letter",
    metadata,
    sa.Column("destination", sa.Text, primary_key=True),
    sa.Column("position", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("event_id", sa.Uuid, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("event_time", sa.DateTime(timezone=True), nullable=False),
    sa.Column("reason", sa.Text, nullable=False),
    moment("dead_time"),
)
