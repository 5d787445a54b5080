"""The state of the audit export."""

from alembic import op

revision = "v0025"
down_revision = "v0024"
kind = "expand"
least_version = "0.2.0"

_EXPORT = """
CREATE TABLE sys.export_destination (
    name TEXT CONSTRAINT export_destination_pkey PRIMARY KEY
        CONSTRAINT export_destination_name_check CHECK (name <> ''),
    worker TEXT,
    lease_time TIMESTAMP WITH TIME ZONE,
    operation_id BIGINT,
    login_id BIGINT,
    decision_id BIGINT,
    failures INTEGER DEFAULT 0 NOT NULL,
    reason TEXT,
    retry_time TIMESTAMP WITH TIME ZONE,
    success_time TIMESTAMP WITH TIME ZONE,
    waiting_time TIMESTAMP WITH TIME ZONE,
    sent BIGINT DEFAULT 0 NOT NULL
);
CREATE TABLE sys.export_decision (
    id BIGINT GENERATED ALWAYS AS IDENTITY CONSTRAINT export_decision_pkey PRIMARY KEY,
    event_id UUID NOT NULL,
    create_time TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    event TEXT NOT NULL
);
CREATE TABLE sys.export_dead_letter (
    id BIGINT GENERATED ALWAYS AS IDENTITY CONSTRAINT export_dead_letter_pkey PRIMARY KEY,
    destination TEXT NOT NULL,
    log TEXT NOT NULL CONSTRAINT export_dead_letter_log_check
        CHECK (log IN ('operations', 'logins', 'decisions')),
    event_id UUID NOT NULL,
    reason TEXT NOT NULL,
    entry TEXT NOT NULL,
    dead_time TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL
);
CREATE UNIQUE INDEX export_dead_letter_destination_event_id_idx
    ON sys.export_dead_letter (destination, event_id);
"""


def upgrade() -> None:
    op.execute(_EXPORT)
