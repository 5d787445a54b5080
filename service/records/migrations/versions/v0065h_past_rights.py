"""Past rights: the codes that each role gave, the codes that users needed, and seals of both."""

from alembic import op

revision = "v0065h"
down_revision = "v0065g"
kind = "expand"
least_version = "0.2.0"

LIVES = """
CREATE TABLE sys.role_code_life (
    id BIGINT GENERATED ALWAYS AS IDENTITY,
    role_id BIGINT NOT NULL,
    role_code TEXT NOT NULL,
    menu_id BIGINT NOT NULL,
    code TEXT NOT NULL,
    begin_time TIMESTAMP WITH TIME ZONE NOT NULL,
    end_time TIMESTAMP WITH TIME ZONE,
    CONSTRAINT role_code_life_pkey PRIMARY KEY (id)
);
CREATE INDEX role_code_life_begin_time_idx ON sys.role_code_life (begin_time);
CREATE INDEX role_code_life_role_id_end_time_idx ON sys.role_code_life (role_id, end_time);
CREATE INDEX role_code_life_open_idx ON sys.role_code_life (role_id) WHERE end_time IS NULL;
"""
USES = """
CREATE TABLE sys.permission_use (
    user_id BIGINT NOT NULL,
    month DATE NOT NULL,
    days JSONB NOT NULL,
    CONSTRAINT permission_use_pkey PRIMARY KEY (user_id, month)
);
CREATE INDEX permission_use_month_idx ON sys.permission_use (month);
CREATE TABLE sys.use_recording (
    only_row BOOLEAN DEFAULT true NOT NULL,
    since_time TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT use_recording_pkey PRIMARY KEY (only_row),
    CONSTRAINT use_recording_only_row_check CHECK (only_row)
);
"""
SEALS = """
CREATE TABLE sys.history_seal (
    number BIGINT NOT NULL CONSTRAINT history_seal_number_check CHECK (number > 0),
    until_time TIMESTAMP WITH TIME ZONE NOT NULL,
    parts JSONB NOT NULL,
    hash BYTEA NOT NULL,
    seals JSONB NOT NULL,
    CONSTRAINT history_seal_pkey PRIMARY KEY (number)
);
"""


def upgrade() -> None:
    for statement in (LIVES, USES, SEALS):
        op.execute(statement)
