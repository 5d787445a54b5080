"""Mails that wait to be sent, notices to users, and the devices from which they have logged in."""

from alembic import op

revision = "v0065d"
down_revision = "v0065c"
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
NOTICES = """
CREATE TABLE sys.notice (
    id BIGINT GENERATED ALWAYS AS IDENTITY,
    user_id BIGINT NOT NULL,
    kind TEXT NOT NULL,
    acted_by TEXT NOT NULL,
    facts JSONB NOT NULL,
    client_ip TEXT,
    browser TEXT,
    os TEXT,
    request_id TEXT,
    create_time TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    read_time TIMESTAMP WITH TIME ZONE,
    CONSTRAINT notice_pkey PRIMARY KEY (id),
    CONSTRAINT notice_user_id_fkey FOREIGN KEY (user_id) REFERENCES sys."user" (id) ON DELETE CASCADE,
    CONSTRAINT notice_acted_by_check CHECK (acted_by IN ('self', 'administrator', 'operator'))
);
CREATE INDEX notice_user_id_id_idx ON sys.notice (user_id, id);
CREATE INDEX notice_create_time_idx ON sys.notice (create_time);
"""
DEVICES = """
CREATE TABLE sys.known_device (
    user_id BIGINT NOT NULL,
    digest BYTEA NOT NULL,
    last_time TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT known_device_pkey PRIMARY KEY (user_id, digest),
    CONSTRAINT known_device_user_id_fkey FOREIGN KEY (user_id) REFERENCES sys."user" (id) ON DELETE CASCADE,
    CONSTRAINT known_device_digest_check CHECK (octet_length(digest) = 32)
);
CREATE INDEX known_device_last_time_idx ON sys.known_device (last_time);
"""


def upgrade() -> None:
    for statement in (MAIL, NOTICES, DEVICES):
        op.execute(statement)
