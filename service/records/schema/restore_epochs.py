"""The restore epochs of this database: one row for its beginning, and one for each restore."""

from __future__ import annotations

from sqlalchemy import CheckConstraint, Column, DateTime, Integer, LargeBinary, Table, Text
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

from service.records.schema.base import metadata, moment

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
