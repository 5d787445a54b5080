"""Which permission codes were needed, by whom, and when last; and since when that is recorded."""

from __future__ import annotations

from alembic import op

revision = "v0050"
down_revision = "v0049"
kind = "expand"
least_version = "0.2.0"

USES = """
CREATE TABLE sys.permission_use (
    user_id BIGINT NOT NULL,
    month DATE NOT NULL,
    days JSONB NOT NULL,
    CONSTRAINT permission_use_pkey PRIMARY KEY (user_id, month)
);
CREATE INDEX permission_use_month_idx ON sys.permission_use (month);
CREATE TABLE sys.use_recording (
    only_row BOOLEAN DEFAULT true NOT NULL,
    since_time TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT use_recording_pkey PRIMARY KEY (only_row),
    CONSTRAINT use_recording_only_row_check CHECK (only_row)
);
"""


def upgrade() -> None:
    """Take the step."""
    op.execute(USES)
