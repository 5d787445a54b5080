"""The published policy and its revisions, and uploaded files."""

from alembic import op

revision = "v0002"
down_revision = "v0001"

_POLICY = """
CREATE TABLE sys.casbin_rule (
    id bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT casbin_rule_pkey PRIMARY KEY,
    ptype text NOT NULL,
    v0 text,
    v1 text,
    v2 text,
    v3 text,
    v4 text,
    v5 text
);
CREATE TABLE sys.policy_revision (
    revision bigint CONSTRAINT policy_revision_pkey PRIMARY KEY
        CONSTRAINT policy_revision_revision_check CHECK (revision > 0),
    digest text NOT NULL CONSTRAINT policy_revision_digest_check CHECK (digest <> ''),
    line_count integer NOT NULL CONSTRAINT policy_revision_line_count_check CHECK (line_count >= 0),
    cause text NOT NULL,
    create_time timestamptz NOT NULL DEFAULT now()
);
"""

_FILES = """
CREATE TABLE sys.file (
    id bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT file_pkey PRIMARY KEY,
    key text NOT NULL CONSTRAINT file_key_key UNIQUE,
    name text NOT NULL CONSTRAINT file_name_check CHECK (name <> ''),
    size bigint NOT NULL CONSTRAINT file_size_check CHECK (size >= 0),
    sha256 text NOT NULL CONSTRAINT file_sha256_check CHECK (sha256 ~ '^[0-9a-f]{64}$'),
    content_type text NOT NULL,
    owner_id bigint CONSTRAINT file_owner_id_fkey REFERENCES sys."user" (id) ON DELETE SET NULL,
    token_hash text CONSTRAINT file_token_hash_key UNIQUE,
    token_expire_time timestamptz,
    create_time timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT file_token_check CHECK (token_hash IS NOT NULL OR token_expire_time IS NULL)
);
CREATE INDEX file_owner_id_idx ON sys.file (owner_id);
"""


def upgrade() -> None:
    op.execute(_POLICY)
    op.execute(_FILES)
