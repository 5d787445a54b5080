"""The jobs of the scheduler, and their runs."""

from sqlalchemy import Boolean, CheckConstraint, Column, DateTime, ForeignKey, Index, Table, Text, false

from service.records.schema.base import identity, metadata, moment

job = Table(
    "job",
    metadata,
    Column("job_name", Text, CheckConstraint("job_name <> ''", name="job_name"), primary_key=True),
    Column("paused", Boolean, nullable=False, server_default=false()),
    # Null: only when somebody asks for it.
    Column("due_time", DateTime(timezone=True)),
    # Who asked for the run that is due, if anybody.
    Column("requested_by", Text),
    # Whether the last finished run has failed.
    Column("failing", Boolean, nullable=False, server_default=false()),
    Column("success_time", DateTime(timezone=True)),
)

job_run = Table(
    "job_run",
    metadata,
    identity(),
    Column("job_name", ForeignKey(job.c.job_name, ondelete="CASCADE"), nullable=False),
    Column("worker", Text, nullable=False),
    Column("user_name", Text),
    moment("begin_time"),
    Column("end_time", DateTime(timezone=True)),
    Column(
        "outcome",
        Text,
        CheckConstraint("outcome IN ('running', 'done', 'failed', 'stopped', 'abandoned')", name="outcome"),
        nullable=False,
        server_default="running",
    ),
    Column("detail", Text, nullable=False, server_default=""),
    Index(None, "job_name", "id"),
)
