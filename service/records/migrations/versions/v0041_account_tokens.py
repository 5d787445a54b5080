"""Links that owners of accounts are sent, users who are invited, and addresses for recovery."""

from __future__ import annotations

from alembic import op

revision = "v0041"
down_revision = "v0040"
kind = "expand"
least_version = "0.2.0"

# A person who is invited has no password yet. Versions before read none as a password that nothing matches.
USERS = """
ALTER TABLE sys."user"
    DROP CONSTRAINT user_password_hash_check,
    ADD COLUMN recovery_email TEXT
        CONSTRAINT user_password_hash_check CHECK (kind = 'person' OR password_hash IS NULL);
"""
TOKENS = """
CREATE TABLE sys.account_token (
    digest BYTEA NOT NULL,
    purpose TEXT NOT NULL,
    user_id BIGINT NOT NULL,
    email TEXT,
    expires_time TIMESTAMP WITH TIME ZONE NOT NULL,
    wrong INTEGER DEFAULT 0 NOT NULL,
    created_by BIGINT,
    create_time TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT account_token_pkey PRIMARY KEY (digest),
    CONSTRAINT account_token_user_id_fkey FOREIGN KEY (user_id) REFERENCES sys."user" (id) ON DELETE CASCADE,
    CONSTRAINT account_token_digest_check CHECK (octet_length(digest) = 32),
    CONSTRAINT account_token_purpose_check CHECK (purpose IN
        ('invitation', 'password_reset', 'address', 'end_sessions'))
);
CREATE UNIQUE INDEX account_token_latest_key ON sys.account_token (user_id, purpose)
    WHERE purpose <> 'end_sessions';
CREATE INDEX account_token_user_id_idx ON sys.account_token (user_id);
CREATE INDEX account_token_expires_time_idx ON sys.account_token (expires_time);
"""
REQUESTS = """
CREATE TABLE sys.reset_request (
    user_name_key TEXT NOT NULL,
    client_ip TEXT NOT NULL,
    create_time TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT reset_request_pkey PRIMARY KEY (user_name_key)
);
"""


def upgrade() -> None:
    """Take the step."""
    for statement in (USERS, TOKENS, REQUESTS):
        op.execute(statement)
