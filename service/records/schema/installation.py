"""Tables about the database itself: restores, seeded rows, compatible versions, and jobs."""

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

from service.records.schema.base import SCHEMA, chosen, filled, identity, metadata, moment

# One row for the beginning of this database, and one for each restore.
# Tokens carry the name of the newest restore epoch; those of the ones before are refused.
restore_epoch = sa.Table(
    "timeline",
    metadata,
    sa.Column(
        "number",
        sa.Integer,
        sa.CheckConstraint("number > 0", name="number"),
        primary_key=True,
        autoincrement=False,
    ),
    sa.Column("name", sa.Text, nullable=False, unique=True),
    moment("begin_time"),
    # Null for the first one; else the backup that was restored, the time of its snapshot, and by whom.
    sa.Column("backup_id", sa.Text),
    sa.Column("snapshot_time", sa.DateTime(timezone=True)),
    sa.Column("operator", sa.Text),
    # Other restore epochs that the restore has ended, of which the backup did not know.
    sa.Column("ended", ARRAY(sa.Text)),
    # Where the chains of the logs ended in the backup.
    sa.Column("heads", JSONB),
    # A MAC over all of the above: only holders of the chains' key can forge one.
    sa.Column("seal", sa.LargeBinary),
)

# Rows that this service has seeded, so that rows deleted by an administrator stay deleted.
seeded = sa.Table(
    "seeded",
    metadata,
    chosen("kind", "menu", "button", "resource", primary_key=True),
    # The name of a Menu, the permission code of a Button, the code of a resource.
    sa.Column("code", sa.Text, primary_key=True),
    moment("create_time"),
)

# Which versions of the program can work with the schema.
schema_support = sa.Table(
    "schema_support",
    metadata,
    sa.Column(
        "id", sa.Integer, sa.CheckConstraint("id = 1", name="id"), primary_key=True, autoincrement=False
    ),
    sa.Column("least_version", sa.Text, nullable=False),
    sa.Column("migrated_by", sa.Text, nullable=False),
    moment("migrate_time"),
    # The least version that the migrations alone need; ``least_version`` is also what rows need.
    sa.Column("schema_version", sa.Text),
)
"""At most one row, written by each migration; triggers keep ``least_version``."""

# The forms of rows that older versions would misread, of those that are there: a view.
needed_version = sa.table("needed_version", sa.column("version"), sa.column("form"), schema=SCHEMA)

job = sa.Table(
    "job",
    metadata,
    filled("job_name", primary_key=True),
    sa.Column("paused", sa.Boolean, nullable=False, server_default=sa.false()),
    # Null: only on request.
    sa.Column("due_time", sa.DateTime(timezone=True)),
    # The user who requested the run that is due; null for none.
    sa.Column("requested_by", sa.Text),
    # Whether the last finished run has failed.
    sa.Column("failing", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Column("success_time", sa.DateTime(timezone=True)),
)

job_run = sa.Table(
    "job_run",
    metadata,
    identity(),
    sa.Column("job_name", sa.ForeignKey(job.c.job_name, ondelete="CASCADE"), nullable=False),
    sa.Column("worker", sa.Text, nullable=False),
    sa.Column("user_name", sa.Text),
    moment("begin_time"),
    sa.Column("end_time", sa.DateTime(timezone=True)),
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
    sa.Column("detail", sa.Text, nullable=False, server_default=""),
    # The code and the parameters of the sentence in ``detail``.
    sa.Column("detail_code", sa.Text),
    sa.Column("detail_params", JSONB),
    sa.Index(None, "job_name", "id"),
)
