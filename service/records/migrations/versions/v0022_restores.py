"""Keeps with a timeline which restore has begun it, and where the chains of the logs ended in its backup."""

from alembic import op

revision = "v0022"
down_revision = "v0021"
kind = "expand"
least_version = "0.2.0"

_RESTORES = """
ALTER TABLE sys.timeline ADD COLUMN backup_id TEXT;
ALTER TABLE sys.timeline ADD COLUMN snapshot_time TIMESTAMP WITH TIME ZONE;
ALTER TABLE sys.timeline ADD COLUMN operator TEXT;
ALTER TABLE sys.timeline ADD COLUMN ended TEXT[];
ALTER TABLE sys.timeline ADD COLUMN heads JSONB;
ALTER TABLE sys.timeline ADD COLUMN seal BYTEA;
"""


def upgrade() -> None:
    op.execute(_RESTORES)
