"""The state of destinations of events, and their dead letters."""

from alembic import op

revision = "v0077"
down_revision = "v0076"
kind = "expand"
least_version = "0.2.0"

TABLES = """
CREATE TABLE sys.rights_event_destination (
    name TEXT NOT NULL,
    worker TEXT,
    lease_time TIMESTAMP WITH TIME ZONE,
    position BIGINT NOT NULL,
    failures INTEGER DEFAULT 0 NOT NULL,
    failing_time TIMESTAMP WITH TIME ZONE,
    reason TEXT,
    retry_time TIMESTAMP WITH TIME ZONE,
    success_time TIMESTAMP WITH TIME ZONE,
    sent BIGINT DEFAULT 0 NOT NULL,
    missed BIGINT DEFAULT 0 NOT NULL,
    CONSTRAINT rights_event_destination_pkey PRIMARY KEY (name),
    CONSTRAINT rights_event_destination_name_check CHECK (name <> '')
);
CREATE TABLE sys.rights_event_dead_letter (
    destination TEXT NOT NULL,
    position BIGINT NOT NULL,
    event_id UUID NOT NULL,
    kind TEXT NOT NULL,
    event_time TIMESTAMP WITH TIME ZONE NOT NULL,
    reason TEXT NOT NULL,
    dead_time TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT rights_event_dead_letter_pkey PRIMARY KEY (destination, position)
)
"""


def upgrade() -> None:
    op.execute(TABLES)
