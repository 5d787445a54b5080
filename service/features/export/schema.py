"""Tables of the export: state of destinations, waiting events, and refused entries."""

from datetime import datetime
from uuid import UUID

import sqlalchemy as sa
from msgspec import Struct

from service.records.schema.base import filled, identity, metadata, moment, table_of
from service.settings import ExportLog

export_destination = sa.Table(
    "export_destination",
    metadata,
    filled("name", primary_key=True),
    # The worker that holds the lease, until lease_time; then another worker may take it.
    sa.Column("worker", sa.Text),
    sa.Column("lease_time", sa.DateTime(timezone=True)),
    # The id of the last sent entry of each log; null before the first export.
    sa.Column("operation_id", sa.BigInteger),
    sa.Column("login_id", sa.BigInteger),
    sa.Column("decision_id", sa.BigInteger),
    # Failed attempts since the last success, their reason, and the time of the next attempt.
    sa.Column("failures", sa.Integer, nullable=False, server_default=sa.text("0")),
    sa.Column("reason", sa.Text),
    sa.Column("retry_time", sa.DateTime(timezone=True)),
    sa.Column("success_time", sa.DateTime(timezone=True)),
    # The time of the oldest entry known to be unsent; null without one.
    sa.Column("waiting_time", sa.DateTime(timezone=True)),
    sa.Column("sent", sa.BigInteger, nullable=False, server_default=sa.text("0")),
)

# Events of the decision log, until all destinations have them.
export_decision = sa.Table(
    "export_decision",
    metadata,
    identity(),
    sa.Column("event_id", sa.Uuid, nullable=False),
    moment("create_time"),
    sa.Column("event", sa.Text, nullable=False),
)


class NewDeadLetter(Struct, frozen=True):
    """An entry that a destination refused while it accepted others.

    ``entry`` is its JSON, encoded by ``service.features.export.entry``.
    """

    destination: str
    log: ExportLog
    event_id: UUID
    reason: str
    entry: str


class DeadLetter(NewDeadLetter, frozen=True):
    """A stored dead letter."""

    id: int
    dead_time: datetime


export_dead_letter = table_of(
    DeadLetter,
    "export_dead_letter",
    identity(),
    moment("dead_time"),
    sa.Index(None, "destination", "event_id", unique=True),
)
