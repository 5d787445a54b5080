"""Mails that wait to be sent."""

from __future__ import annotations

from alembic import op

revision = "v0040"
down_revision = "v0039"
kind = "expand"
least_version = "0.2.0"

MAIL = """
CREATE TABLE sys.mail (
    id BIGINT GENERATED ALWAYS AS IDENTITY,
    message_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    recipient TEXT NOT NULL,
    user_id BIGINT,
    facts JSONB NOT NULL,
    sealed_link BYTEA,
    state TEXT DEFAULT 'waiting' NOT NULL,
    attempts INTEGER DEFAULT 0 NOT NULL,
    next_time TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    create_time TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    end_time TIMESTAMP WITH TIME ZONE,
    fault TEXT,
    CONSTRAINT mail_pkey PRIMARY KEY (id),
    CONSTRAINT mail_message_id_key UNIQUE (message_id),
    CONSTRAINT mail_user_id_fkey FOREIGN KEY (user_id) REFERENCES sys."user" (id) ON DELETE CASCADE,
    CONSTRAINT mail_state_check CHECK (state IN ('waiting', 'sent', 'given_up')),
    CONSTRAINT mail_end_time_check CHECK ((state = 'waiting') = (end_time IS NULL)),
    CONSTRAINT mail_sealed_link_check CHECK (state = 'waiting' OR sealed_link IS NULL)
);
CREATE INDEX mail_user_id_idx ON sys.mail (user_id);
CREATE INDEX mail_waiting_idx ON sys.mail (next_time) WHERE state = 'waiting';
CREATE INDEX mail_ended_idx ON sys.mail (end_time) WHERE state <> 'waiting';
"""


def upgrade() -> None:
    """Take the step."""
    op.execute(MAIL)
