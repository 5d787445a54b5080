"""Notices that wait to be posted to a chat."""

from alembic import op

revision = "v0071"
down_revision = "v0070"
kind = "expand"
least_version = "0.2.0"

TABLE = """
CREATE TABLE sys.chat_message (
    id BIGINT GENERATED ALWAYS AS IDENTITY,
    message_id TEXT NOT NULL,
    destination TEXT NOT NULL,
    kind TEXT NOT NULL,
    facts JSONB NOT NULL,
    request TEXT,
    state TEXT DEFAULT 'waiting' NOT NULL,
    attempts INTEGER DEFAULT 0 NOT NULL,
    next_time TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    create_time TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    end_time TIMESTAMP WITH TIME ZONE,
    fault TEXT,
    CONSTRAINT chat_message_pkey PRIMARY KEY (id),
    CONSTRAINT chat_message_state_check CHECK (state IN ('waiting', 'sent', 'given_up')),
    CONSTRAINT chat_message_end_time_check CHECK ((state = 'waiting') = (end_time IS NULL))
);
CREATE INDEX chat_message_waiting_idx ON sys.chat_message (destination, next_time) WHERE state = 'waiting';
CREATE INDEX chat_message_ended_idx ON sys.chat_message (end_time) WHERE state <> 'waiting';
"""


def upgrade() -> None:
    op.execute(TABLE)
