"""What each worker says of its node, and when backups were made."""

from alembic import op

revision = "v0027"
down_revision = "v0026"
kind = "expand"
least_version = "0.2.0"

_STEP = """
ALTER TABLE sys.policy_worker ADD COLUMN facts jsonb;
CREATE TABLE sys.backup (
    id TEXT CONSTRAINT backup_pkey PRIMARY KEY,
    make_time TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    snapshot_time TIMESTAMP WITH TIME ZONE NOT NULL,
    user_name TEXT NOT NULL,
    with_files BOOLEAN NOT NULL
);
"""


def upgrade() -> None:
    op.execute(_STEP)
