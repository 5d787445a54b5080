"""Which service account has asked for a role in whose name, and about which question."""

from __future__ import annotations

from alembic import op

revision = "v0049"
down_revision = "v0048"
kind = "expand"
least_version = "0.2.0"

TABLE = """
CREATE TABLE sys.access_task (
    id TEXT PRIMARY KEY,
    request_id BIGINT NOT NULL UNIQUE REFERENCES sys.access_request (id) ON DELETE CASCADE,
    caller_id BIGINT NOT NULL,
    caller_name TEXT NOT NULL CONSTRAINT access_task_caller_name_check CHECK (caller_name <> ''),
    service TEXT NOT NULL,
    question_digest TEXT NOT NULL
        CONSTRAINT access_task_question_digest_check CHECK (question_digest <> '')
)
"""


def upgrade() -> None:
    """Take the step."""
    op.execute(TABLE)
