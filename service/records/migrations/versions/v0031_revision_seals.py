"""Seals of policy revisions, their chain, and the digest of their lines alone."""

from __future__ import annotations

from alembic import op

revision = "v0031"
down_revision = "v0030"
kind = "expand"
least_version = "0.2.0"

# Revisions from before have none of it, and are trusted as they are.
_STEP = """
ALTER TABLE sys.policy_revision
    ADD COLUMN lines_digest TEXT,
    ADD COLUMN prior_revision BIGINT,
    ADD COLUMN prior_hash TEXT,
    ADD COLUMN sealed_from BIGINT,
    ADD COLUMN seals JSONB;
"""


def upgrade() -> None:
    """Take the step."""
    op.execute(_STEP)
