"""When each user has logged in last."""

from __future__ import annotations

from alembic import op

revision = "v0034"
down_revision = "v0033"
kind = "expand"
least_version = "0.2.0"

TABLE = """
CREATE TABLE sys.user_login (
    user_id BIGINT NOT NULL,
    last_login_time TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT user_login_pkey PRIMARY KEY (user_id)
);
"""
# Of the logins before, those of a month: a start must not read years of the log.
LOGINS = """
INSERT INTO sys.user_login (user_id, last_login_time)
    SELECT user_id, max(create_time) FROM sys.login_log
    WHERE event = 'login' AND outcome = 'success' AND create_time > now() - interval '31 days'
        AND user_id IN (SELECT id FROM sys."user")
    GROUP BY user_id;
"""


def upgrade() -> None:
    """Take the step."""
    op.execute(TABLE)
    op.execute(LOGINS)
