"""Who could get to act as whom while a review was open."""

from __future__ import annotations

from alembic import op

revision = "v0052"
down_revision = "v0051"
kind = "expand"
least_version = "0.2.0"

TAKEOVERS = """
CREATE TABLE sys.review_takeover (
    review_id BIGINT NOT NULL,
    user_id BIGINT NOT NULL,
    by_id BIGINT NOT NULL,
    CONSTRAINT review_takeover_pkey PRIMARY KEY (review_id, user_id, by_id),
    CONSTRAINT review_takeover_review_id_fkey FOREIGN KEY(review_id) REFERENCES sys.review (id)
)
"""


def upgrade() -> None:
    """Take the step."""
    op.execute(TAKEOVERS)
