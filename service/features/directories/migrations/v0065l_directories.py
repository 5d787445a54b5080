"""Directories that hand out roles, the accounts that they know, and the sessions of their sign-ins."""

from alembic import op

revision = "v0065l"
down_revision = "v0065k"
kind = "expand"
least_version = "0.2.0"

# Several sign-ins on a device may be known: one that waits for a second factor replaces no session yet.
DIRECTORIES = """
CREATE TABLE sys.directory (
    name TEXT CONSTRAINT directory_name_check CHECK (name ~ '^[a-z][a-z0-9-]{0,31}$'),
    kind TEXT NOT NULL CONSTRAINT directory_kind_check CHECK (kind IN ('oidc', 'scim')),
    client_id BIGINT,
    mapping JSONB NOT NULL,
    ceiling TEXT[] NOT NULL,
    enabled BOOLEAN DEFAULT true NOT NULL,
    version INTEGER DEFAULT 1 NOT NULL CONSTRAINT directory_version_check CHECK (version > 0),
    create_time TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    update_time TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    updated_by TEXT,
    waiting_after BIGINT,
    CONSTRAINT directory_pkey PRIMARY KEY (name),
    CONSTRAINT directory_client_id_key UNIQUE (client_id),
    CONSTRAINT directory_client_id_check CHECK (client_id IS NULL OR kind = 'scim'),
    CONSTRAINT directory_client_id_fkey FOREIGN KEY(client_id) REFERENCES sys."user" (id) ON DELETE SET NULL
);
CREATE TABLE sys.directory_account (
    source TEXT NOT NULL,
    issuer TEXT NOT NULL,
    subject TEXT NOT NULL,
    user_id BIGINT NOT NULL,
    managed BOOLEAN NOT NULL,
    linked_by BIGINT[],
    create_time TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    last_time TIMESTAMP WITH TIME ZONE,
    groups JSONB,
    groups_time TIMESTAMP WITH TIME ZONE,
    roles_until TIMESTAMP WITH TIME ZONE,
    CONSTRAINT directory_account_pkey PRIMARY KEY (source, issuer, subject),
    CONSTRAINT directory_account_user_id_fkey
        FOREIGN KEY(user_id) REFERENCES sys."user" (id) ON DELETE CASCADE
);
CREATE INDEX directory_account_user_id_idx ON sys.directory_account (user_id);
CREATE TABLE sys.directory_session (
    user_id BIGINT NOT NULL,
    device TEXT NOT NULL,
    source TEXT NOT NULL,
    issuer TEXT NOT NULL,
    subject TEXT NOT NULL,
    sid TEXT,
    opened_time TIMESTAMP WITH TIME ZONE NOT NULL,
    sign_in TEXT DEFAULT '' NOT NULL,
    CONSTRAINT directory_session_pkey PRIMARY KEY (user_id, device, sign_in),
    CONSTRAINT directory_session_user_id_fkey
        FOREIGN KEY(user_id) REFERENCES sys."user" (id) ON DELETE CASCADE
);
CREATE INDEX directory_session_source_subject_idx ON sys.directory_session (source, subject)
"""


def upgrade() -> None:
    op.execute(DIRECTORIES)
