"""Reviews whose reviewers were reminded of the deadline."""

from alembic import op

revision = "v0079"
down_revision = "v0078"
kind = "expand"
least_version = "0.2.0"

TABLE = """
CREATE TABLE sys.review_reminder (
    review_id BIGINT NOT NULL,
    create_time TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT review_reminder_pkey PRIMARY KEY (review_id),
    CONSTRAINT review_reminder_review_id_fkey FOREIGN KEY (review_id)
        REFERENCES sys.review (id) ON DELETE CASCADE
)
"""


def upgrade() -> None:
    op.execute(TABLE)
