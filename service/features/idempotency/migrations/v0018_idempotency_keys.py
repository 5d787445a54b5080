"""Answers to creating requests, kept under their idempotency keys."""

from alembic import op

revision = "v0018"
down_revision = "v0017"

_KEYS = """
CREATE TABLE sys.idempotency_key (
    user_id BIGINT NOT NULL,
    method TEXT NOT NULL,
    path TEXT NOT NULL,
    key_hash BYTEA NOT NULL,
    fingerprint TEXT NOT NULL,
    status INTEGER NOT NULL,
    headers JSONB NOT NULL,
    answer BYTEA NOT NULL,
    create_time TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT idempotency_key_pkey PRIMARY KEY (user_id, method, path, key_hash),
    CONSTRAINT idempotency_key_key_hash_check CHECK (octet_length(key_hash) = 32),
    CONSTRAINT idempotency_key_user_id_fkey FOREIGN KEY (user_id) REFERENCES sys."user" (id) ON DELETE CASCADE
);
CREATE INDEX idempotency_key_create_time_idx ON sys.idempotency_key (create_time);
"""


def upgrade() -> None:
    op.execute(_KEYS)
