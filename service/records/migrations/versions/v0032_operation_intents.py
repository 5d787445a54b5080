"""What requests change, from which an entry of the log is made if their own is lost."""

from __future__ import annotations

from alembic import op

revision = "v0032"
down_revision = "v0031"
kind = "expand"
least_version = "0.2.0"

_STEP = """
CREATE TABLE sys.operation_intent (
    event_id UUID NOT NULL,
    create_time TIMESTAMP WITH TIME ZONE NOT NULL,
    entry TEXT NOT NULL,
    CONSTRAINT operation_intent_pkey PRIMARY KEY (event_id)
);
"""


def upgrade() -> None:
    """Take the step."""
    op.execute(_STEP)
