"""The audit export: how far each destination has got, what waits for it, and what it refused."""

from sqlalchemy import BigInteger, CheckConstraint, Column, DateTime, Index, Integer, Table, Text, Uuid, text

from service.records.schema.base import identity, metadata, moment

export_destination = Table(
    "export_destination",
    metadata,
    Column("name", Text, CheckConstraint("name <> ''", name="name"), primary_key=True),
    # The worker that sends, until lease_time; others may then take its place.
    Column("worker", Text),
    Column("lease_time", DateTime(timezone=True)),
    # The id of the last entry that was sent, of each log; null: it was never exported.
    Column("operation_id", BigInteger),
    Column("login_id", BigInteger),
    Column("decision_id", BigInteger),
    # The attempts that have failed since the last good one, why, and when the next one is due.
    Column("failures", Integer, nullable=False, server_default=text("0")),
    Column("reason", Text),
    Column("retry_time", DateTime(timezone=True)),
    Column("success_time", DateTime(timezone=True)),
    # The time of the oldest entry that is known not to be sent; null: there is none.
    Column("waiting_time", DateTime(timezone=True)),
    Column("sent", BigInteger, nullable=False, server_default=text("0")),
)

# Events of the decision log, until all destinations have them.
export_decision = Table(
    "export_decision",
    metadata,
    identity(),
    Column("event_id", Uuid, nullable=False),
    moment("create_time"),
    Column("event", Text, nullable=False),
)

# Entries that a destination refused while it took others.
export_dead_letter = Table(
    "export_dead_letter",
    metadata,
    identity(),
    Column("destination", Text, nullable=False),
    Column(
        "log",
        Text,
        CheckConstraint("log IN ('operations', 'logins', 'decisions')", name="log"),
        nullable=False,
    ),
    Column("event_id", Uuid, nullable=False),
    Column("reason", Text, nullable=False),
    Column("entry", Text, nullable=False),
    moment("dead_time"),
    Index(None, "destination", "event_id", unique=True),
)
