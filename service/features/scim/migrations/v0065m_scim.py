"""Users and groups that directories provision by SCIM."""

from alembic import op

revision = "v0065m"
down_revision = "v0065l"
kind = "expand"
least_version = "0.2.0"

TABLES = """
CREATE TABLE sys.scim_user (
    user_id BIGINT NOT NULL,
    directory TEXT NOT NULL,
    external_id TEXT,
    display_name TEXT,
    formatted_name TEXT,
    email_type TEXT,
    gone BOOLEAN DEFAULT false NOT NULL,
    display_name_folded text GENERATED ALWAYS AS (sys.folded(display_name)) STORED,
    formatted_name_folded text GENERATED ALWAYS AS (sys.folded(formatted_name)) STORED,
    email_type_folded text GENERATED ALWAYS AS (sys.folded(email_type)) STORED,
    CONSTRAINT scim_user_pkey PRIMARY KEY (user_id),
    CONSTRAINT scim_user_user_id_fkey FOREIGN KEY(user_id) REFERENCES sys."user" (id) ON DELETE CASCADE,
    CONSTRAINT scim_user_directory_fkey
        FOREIGN KEY(directory) REFERENCES sys.directory (name) ON DELETE CASCADE
);
CREATE INDEX scim_user_directory_external_id_idx ON sys.scim_user (directory, external_id);
CREATE TABLE sys.scim_group (
    id BIGINT GENERATED ALWAYS AS IDENTITY,
    directory TEXT NOT NULL,
    display_name TEXT NOT NULL CONSTRAINT scim_group_display_name_check CHECK (display_name <> ''),
    external_id TEXT,
    version INTEGER DEFAULT 1 NOT NULL CONSTRAINT scim_group_version_check CHECK (version > 0),
    create_time TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    update_time TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    updated_by TEXT,
    display_name_folded text GENERATED ALWAYS AS (sys.folded(display_name)) STORED,
    CONSTRAINT scim_group_pkey PRIMARY KEY (id),
    CONSTRAINT scim_group_directory_fkey
        FOREIGN KEY(directory) REFERENCES sys.directory (name) ON DELETE CASCADE,
    CONSTRAINT scim_group_directory_display_name_key UNIQUE (directory, display_name)
);
CREATE TABLE sys.scim_member (
    group_id BIGINT NOT NULL,
    user_id BIGINT NOT NULL,
    CONSTRAINT scim_member_pkey PRIMARY KEY (group_id, user_id),
    CONSTRAINT scim_member_group_id_fkey
        FOREIGN KEY(group_id) REFERENCES sys.scim_group (id) ON DELETE CASCADE,
    CONSTRAINT scim_member_user_id_fkey
        FOREIGN KEY(user_id) REFERENCES sys.scim_user (user_id) ON DELETE CASCADE
);
CREATE INDEX scim_member_user_id_idx ON sys.scim_member (user_id)
"""


def upgrade() -> None:
    op.execute(TABLES)
