"""Seals of policy revisions, intents of requests, and an index of log entries that changed rights."""

from alembic import op

revision = "v0065i"
down_revision = "v0065h"
kind = "expand"
least_version = "0.2.0"

# Revisions from before have none of it, and are trusted as they are.
REVISIONS = """
ALTER TABLE sys.policy_revision
    ADD COLUMN lines_digest TEXT,
    ADD COLUMN prior_revision BIGINT,
    ADD COLUMN prior_hash TEXT,
    ADD COLUMN sealed_from BIGINT,
    ADD COLUMN seals JSONB,
    ADD COLUMN author_ids BIGINT[];
"""
INTENTS = """
CREATE TABLE sys.operation_intent (
    event_id UUID NOT NULL,
    create_time TIMESTAMP WITH TIME ZONE NOT NULL,
    entry TEXT NOT NULL,
    CONSTRAINT operation_intent_pkey PRIMARY KEY (event_id)
);
"""
CHANGES = """
CREATE INDEX operation_log_rights_idx ON sys.operation_log (create_time)
    WHERE jsonb_path_exists(changes, '$[*] ? (@.field == "roles" || @.field == "permissions"
        || @.field == "resources" || @.field == "code")');
"""


def upgrade() -> None:
    for statement in (REVISIONS, INTENTS, CHANGES):
        op.execute(statement)
