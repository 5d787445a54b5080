"""Which versions of the program can work with the schema; 0.2.0 does not look, and refuses to start on it."""

from alembic import op

revision = "v0021"
down_revision = "v0020"
kind = "expand"
least_version = "0.2.0"

_SUPPORT = """
CREATE TABLE sys.schema_support (
    id INTEGER CONSTRAINT schema_support_pkey PRIMARY KEY CONSTRAINT schema_support_id_check CHECK (id = 1),
    least_version TEXT NOT NULL,
    migrated_by TEXT NOT NULL,
    migrate_time TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL
);
"""


def upgrade() -> None:
    op.execute(_SUPPORT)
