"""Assignments of roles with a beginning, an end and a reason, and those that have ended."""

from alembic import op

revision = "v0065g"
down_revision = "v0065f"
kind = "expand"
least_version = "0.2.0"

# An older version inserts a user and a role, which is an assignment without an end. The time and
# the author of existing assignments are unknown.
ASSIGNMENTS = """
ALTER TABLE sys.user_role
    DROP CONSTRAINT user_role_pkey,
    ADD COLUMN id BIGINT GENERATED ALWAYS AS IDENTITY CONSTRAINT user_role_pkey PRIMARY KEY,
    ADD COLUMN valid_from TIMESTAMP WITH TIME ZONE,
    ADD COLUMN valid_until TIMESTAMP WITH TIME ZONE
        CONSTRAINT user_role_window_check CHECK (valid_from < valid_until),
    ADD COLUMN reason TEXT,
    ADD COLUMN source TEXT DEFAULT 'direct' NOT NULL
        CONSTRAINT user_role_source_check CHECK (source IN ('direct', 'request', 'directory')),
    ADD COLUMN version INTEGER DEFAULT 1 NOT NULL CONSTRAINT user_role_version_check CHECK (version > 0),
    ADD COLUMN create_time TIMESTAMP WITH TIME ZONE,
    ADD COLUMN created_by TEXT,
    ADD COLUMN edit_time TIMESTAMP WITH TIME ZONE,
    ADD COLUMN directory TEXT;
ALTER TABLE sys.user_role ALTER COLUMN create_time SET DEFAULT now();
CREATE UNIQUE INDEX user_role_window_key ON sys.user_role (user_id, role_id, source,
    coalesce(valid_from, '-infinity'::timestamptz), coalesce(valid_until, 'infinity'::timestamptz));
CREATE INDEX user_role_valid_from_idx ON sys.user_role (valid_from) WHERE valid_from IS NOT NULL;
CREATE INDEX user_role_valid_until_idx ON sys.user_role (valid_until) WHERE valid_until IS NOT NULL;
CREATE INDEX user_role_directory_idx ON sys.user_role (directory) WHERE directory IS NOT NULL;
"""
ENDED = """
CREATE TABLE sys.ended_assignment (
    id BIGINT NOT NULL,
    user_id BIGINT NOT NULL,
    role_id BIGINT NOT NULL,
    role_code TEXT NOT NULL,
    valid_from TIMESTAMP WITH TIME ZONE,
    valid_until TIMESTAMP WITH TIME ZONE,
    reason TEXT,
    source TEXT NOT NULL,
    create_time TIMESTAMP WITH TIME ZONE,
    created_by TEXT,
    end_time TIMESTAMP WITH TIME ZONE NOT NULL,
    ended_by TEXT,
    how TEXT NOT NULL,
    directory TEXT,
    CONSTRAINT ended_assignment_pkey PRIMARY KEY (id),
    CONSTRAINT ended_assignment_user_id_fkey
        FOREIGN KEY (user_id) REFERENCES sys."user" (id) ON DELETE CASCADE,
    CONSTRAINT ended_assignment_how_check CHECK (how IN ('expired', 'revoked'))
);
CREATE INDEX ended_assignment_user_id_id_idx ON sys.ended_assignment (user_id, id);
CREATE INDEX ended_assignment_end_time_idx ON sys.ended_assignment (end_time);
"""
ROLES = """
ALTER TABLE sys.role
    ADD COLUMN max_duration INTEGER CONSTRAINT role_max_duration_check CHECK (max_duration > 0),
    ADD COLUMN reason_required BOOLEAN DEFAULT false NOT NULL
"""


def upgrade() -> None:
    for statement in (ASSIGNMENTS, ENDED, ROLES):
        op.execute(statement)
