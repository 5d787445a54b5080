"""Seals of what the past of rights says: assignments, codes of roles, use, and ended rows of the policy."""

from __future__ import annotations

from alembic import op

revision = "v0061"
down_revision = "v0060"
kind = "expand"
least_version = "0.2.0"

TABLE = """
CREATE TABLE sys.history_seal (
    number BIGINT NOT NULL CONSTRAINT history_seal_number_check CHECK (number > 0),
    until_time TIMESTAMP WITH TIME ZONE NOT NULL,
    parts JSONB NOT NULL,
    hash BYTEA NOT NULL,
    seals JSONB NOT NULL,
    CONSTRAINT history_seal_pkey PRIMARY KEY (number)
);
"""


def upgrade() -> None:
    """Take the step."""
    op.execute(TABLE)
