"""The backups that were made of this database."""

import sqlalchemy as sa

from service.records.schema.base import metadata, moment

backup = sa.Table(
    "backup",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    moment("make_time"),
    sa.Column("snapshot_time", sa.DateTime(timezone=True), nullable=False),
    sa.Column("user_name", sa.Text, nullable=False),
    sa.Column("with_files", sa.Boolean, nullable=False),
)
