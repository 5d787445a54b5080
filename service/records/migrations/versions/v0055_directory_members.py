"""What lets a changed mapping reach members of a directory, and which sign-in has opened a session."""

from __future__ import annotations

from alembic import op

revision = "v0055"
down_revision = "v0054"
kind = "expand"
least_version = "0.2.0"

# Behind which user the members wait for their roles anew; null: nobody waits.
WAITING = """
ALTER TABLE sys.directory ADD COLUMN waiting_after BIGINT;
ALTER TABLE sys.directory_account ADD COLUMN groups JSONB, ADD COLUMN groups_time TIMESTAMP WITH TIME ZONE,
    ADD COLUMN roles_until TIMESTAMP WITH TIME ZONE
"""
# Several sign-ins on a device may be known: one that waits for a second factor replaces no session yet.
SIGN_INS = """
ALTER TABLE sys.directory_session ADD COLUMN sign_in TEXT DEFAULT '' NOT NULL;
ALTER TABLE sys.directory_session DROP CONSTRAINT directory_session_pkey;
ALTER TABLE sys.directory_session
    ADD CONSTRAINT directory_session_pkey PRIMARY KEY (user_id, device, sign_in)
"""


def upgrade() -> None:
    """Take the step."""
    for statement in (WAITING, SIGN_INS):
        op.execute(statement)
