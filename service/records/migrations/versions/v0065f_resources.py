"""Demands of resources on authentication, and public access with an end."""

from alembic import op

revision = "v0065f"
down_revision = "v0065e"
kind = "expand"
least_version = "0.2.0"

DEMANDS = """
ALTER TABLE sys.resource
    ADD COLUMN assurance TEXT CONSTRAINT resource_assurance_check CHECK (assurance ~
        '^(login|two-factors|phishing-resistant)(-within-(15m|12h))?$'),
    ADD COLUMN services BOOLEAN DEFAULT false NOT NULL;
CREATE INDEX resource_assurance_idx ON sys.resource (id) WHERE assurance IS NOT NULL AND enabled;
"""
ENDS = """
ALTER TABLE sys.opening ADD COLUMN end_time TIMESTAMP WITH TIME ZONE
    CONSTRAINT opening_end_time_check CHECK (end_time = date_trunc('second', end_time));
ALTER TABLE sys.opening_history ADD COLUMN end_time TIMESTAMP WITH TIME ZONE;
CREATE INDEX opening_end_time_idx ON sys.opening (id) WHERE end_time IS NOT NULL;
"""


def upgrade() -> None:
    for statement in (DEMANDS, ENDS):
        op.execute(statement)
