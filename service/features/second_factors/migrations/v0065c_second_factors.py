"""Second factors of users, and their recovery codes."""

from alembic import op

revision = "v0065c"
down_revision = "v0065b"
kind = "expand"
least_version = "0.2.0"

FACTORS = """
CREATE TABLE sys.user_factor (
    id BIGINT GENERATED ALWAYS AS IDENTITY,
    user_id BIGINT NOT NULL,
    kind TEXT NOT NULL,
    factor_name TEXT NOT NULL,
    confirm_time TIMESTAMP WITH TIME ZONE,
    last_used_time TIMESTAMP WITH TIME ZONE,
    create_time TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    sealed_secret BYTEA,
    last_step BIGINT,
    credential_id BYTEA,
    credential BYTEA,
    user_handle BYTEA,
    sign_count BIGINT,
    backup_eligible BOOLEAN,
    transports TEXT[],
    CONSTRAINT user_factor_pkey PRIMARY KEY (id),
    CONSTRAINT user_factor_user_id_fkey FOREIGN KEY (user_id) REFERENCES sys."user" (id) ON DELETE CASCADE,
    CONSTRAINT user_factor_credential_id_key UNIQUE (credential_id),
    CONSTRAINT user_factor_kind_check CHECK (kind IN ('totp', 'passkey', 'recovery_codes')),
    CONSTRAINT user_factor_factor_name_check CHECK (factor_name <> ''),
    CONSTRAINT user_factor_sealed_secret_check CHECK ((kind = 'totp') = (sealed_secret IS NOT NULL)),
    CONSTRAINT user_factor_confirm_time_check CHECK (kind = 'totp' OR confirm_time IS NOT NULL),
    CONSTRAINT user_factor_passkey_check CHECK ((kind = 'passkey') = (num_nonnulls(credential_id, credential,
        user_handle, sign_count, backup_eligible, transports) = 6))
);
CREATE INDEX user_factor_user_id_idx ON sys.user_factor (user_id);
CREATE UNIQUE INDEX user_factor_pending_key ON sys.user_factor (user_id) WHERE confirm_time IS NULL;
CREATE UNIQUE INDEX user_factor_recovery_codes_key ON sys.user_factor (user_id)
    WHERE kind = 'recovery_codes';
"""
CODES = """
CREATE TABLE sys.recovery_code (
    factor_id BIGINT NOT NULL,
    digest BYTEA NOT NULL,
    CONSTRAINT recovery_code_pkey PRIMARY KEY (factor_id, digest),
    CONSTRAINT recovery_code_factor_id_fkey FOREIGN KEY (factor_id) REFERENCES sys.user_factor (id)
        ON DELETE CASCADE,
    CONSTRAINT recovery_code_digest_check CHECK (octet_length(digest) = 32)
);
"""


def upgrade() -> None:
    for statement in (FACTORS, CODES):
        op.execute(statement)
