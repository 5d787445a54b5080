"""When the password of each user was last set anew."""

from __future__ import annotations

from alembic import op

revision = "v0036"
down_revision = "v0035"
kind = "expand"
least_version = "0.2.0"

COLUMN = """
ALTER TABLE sys."user" ADD COLUMN password_time TIMESTAMP WITH TIME ZONE;
"""
# Of the first administrator it was told by any edit until now: it stays told where it was.
ADMINISTRATOR = """
UPDATE sys."user" SET password_time = update_time
    WHERE user_name_key = 'admin' AND update_time <> create_time;
"""


def upgrade() -> None:
    """Take the step."""
    op.execute(COLUMN)
    op.execute(ADMINISTRATOR)
