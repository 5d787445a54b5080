"""What an address needs before it is the one for recovery, and links that undo a change of it."""

from __future__ import annotations

from alembic import op

revision = "v0064"
down_revision = "v0063"
kind = "expand"
least_version = "0.2.0"

# Addresses that were confirmed before stay those for recovery. Versions before confirm without these columns.
USERS = 'ALTER TABLE sys."user" ADD COLUMN agreed_email TEXT, ADD COLUMN reached_email TEXT;'
UNDO = """
CREATE TABLE sys.address_undo (
    digest BYTEA NOT NULL,
    user_id BIGINT NOT NULL,
    email TEXT NOT NULL,
    expires_time TIMESTAMP WITH TIME ZONE NOT NULL,
    create_time TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT address_undo_pkey PRIMARY KEY (digest),
    CONSTRAINT address_undo_digest_check CHECK (octet_length(digest) = 32),
    CONSTRAINT address_undo_email_check CHECK (email <> ''),
    CONSTRAINT address_undo_user_id_fkey FOREIGN KEY (user_id) REFERENCES sys."user" (id) ON DELETE CASCADE
);
CREATE INDEX address_undo_user_id_idx ON sys.address_undo (user_id);
CREATE INDEX address_undo_expires_time_idx ON sys.address_undo (expires_time);
"""


def upgrade() -> None:
    """Take the step."""
    for statement in (USERS, UNDO):
        op.execute(statement)
