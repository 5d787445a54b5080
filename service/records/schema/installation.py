"""What the database says of itself: backups, restores, what was seeded, versions that fit, and jobs."""

from sqlalchemy import (
    Boolean,
    CheckConstraint,
    Column,
    DateTime,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    Table,
    Text,
    false,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

from service.records.schema.base import chosen, filled, identity, metadata, moment

backup = Table(
    "backup",
    metadata,
    Column("id", Text, primary_key=True),
    moment("make_time"),
    Column("snapshot_time", DateTime(timezone=True), nullable=False),
    Column("user_name", Text, nullable=False),
    Column("with_files", Boolean, nullable=False),
)

# One row for the beginning of this database, and one for each restore.
# Tokens carry the name of the newest restore epoch; those of the ones before are refused.
restore_epoch = Table(
    "timeline",
    metadata,
    Column("number", Integer, CheckConstraint("number > 0", name="number"), primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    moment("begin_time"),
    # Null for the first one; else the backup that was restored, the time of its snapshot, and by whom.
    Column("backup_id", Text),
    Column("snapshot_time", DateTime(timezone=True)),
    Column("operator", Text),
    # Other restore epochs that the restore has ended, of which the backup did not know.
    Column("ended", ARRAY(Text)),
    # Where the chains of the logs ended in the backup.
    Column("heads", JSONB),
    # A MAC over all of the above: nobody can forge one without the key of the chains.
    Column("seal", LargeBinary),
)

# What this service has seeded, so that what an administrator deletes stays deleted.
seeded = Table(
    "seeded",
    metadata,
    chosen("kind", "menu", "button", "resource", primary_key=True),
    # The name of a Menu, the permission code of a Button, the code of a resource.
    Column("code", Text, primary_key=True),
    moment("create_time"),
)

# Which versions of the program can work with the schema.
schema_support = Table(
    "schema_support",
    metadata,
    Column("id", Integer, CheckConstraint("id = 1", name="id"), primary_key=True, autoincrement=False),
    Column("least_version", Text, nullable=False),
    Column("migrated_by", Text, nullable=False),
    moment("migrate_time"),
)
"""At most one row, written by each migration."""

job = Table(
    "job",
    metadata,
    filled("job_name", primary_key=True),
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
    chosen(
        "outcome",
        "running",
        "done",
        "failed",
        "stopped",
        "abandoned",
        nullable=False,
        server_default="running",
    ),
    Column("detail", Text, nullable=False, server_default=""),
    Index(None, "job_name", "id"),
)
