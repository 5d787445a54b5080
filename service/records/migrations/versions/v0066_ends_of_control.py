"""Acts on accounts that no longer count are kept, so that a row that somebody has removed is missed."""

from __future__ import annotations

from alembic import op

revision = "v0066"
down_revision = "v0065"
kind = "expand"
least_version = "0.2.0"

COLUMN = "ALTER TABLE sys.account_control ADD COLUMN end_time TIMESTAMP WITH TIME ZONE"


def upgrade() -> None:
    """Take the step."""
    op.execute(COLUMN)
