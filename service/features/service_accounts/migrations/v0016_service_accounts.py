"""Accounts of services, and their API keys."""

from alembic import op

revision = "v0016"
down_revision = "v0015"

_ACCOUNTS = """
ALTER TABLE sys."user"
    ADD COLUMN kind text DEFAULT 'person' NOT NULL,
    ADD COLUMN service text,
    ALTER COLUMN password_hash DROP NOT NULL,
    ADD CONSTRAINT user_kind_check CHECK (kind IN ('person', 'service')),
    ADD CONSTRAINT user_password_hash_check CHECK ((kind = 'person') = (password_hash IS NOT NULL)),
    ADD CONSTRAINT user_service_check CHECK (
        service IS NULL OR (kind = 'service' AND service ~ '^[a-z][a-z0-9-]{0,31}$')
    );
CREATE INDEX user_kind_id_idx ON sys."user" (kind, id);
"""

_KEYS = """
CREATE TABLE sys.api_key (
    id bigint GENERATED ALWAYS AS IDENTITY,
    user_id bigint NOT NULL,
    key_name text NOT NULL,
    hint text NOT NULL,
    digest bytea NOT NULL,
    scopes text[],
    expire_time timestamp with time zone,
    last_use_time timestamp with time zone,
    created_by bigint NOT NULL,
    create_time timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT api_key_pkey PRIMARY KEY (id),
    CONSTRAINT api_key_user_id_fkey FOREIGN KEY (user_id) REFERENCES sys."user" (id) ON DELETE CASCADE,
    CONSTRAINT api_key_digest_check CHECK (octet_length(digest) = 32),
    CONSTRAINT api_key_key_name_check CHECK (key_name <> '')
);
CREATE INDEX api_key_user_id_idx ON sys.api_key (user_id);
"""


def upgrade() -> None:
    op.execute(_ACCOUNTS)
    op.execute(_KEYS)
