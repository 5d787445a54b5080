"""Public access to other services may end, and no revision that forgets it."""

from __future__ import annotations

from alembic import op

revision = "v0045"
down_revision = "v0044"
kind = "expand"
least_version = "0.2.0"

COLUMNS = """
ALTER TABLE sys.opening ADD COLUMN end_time TIMESTAMP WITH TIME ZONE
    CONSTRAINT opening_end_time_check CHECK (end_time = date_trunc('second', end_time));
ALTER TABLE sys.opening_history ADD COLUMN end_time TIMESTAMP WITH TIME ZONE;
"""
# A version that knows no ends would publish such a line as one without: it would be open forever.
FUNCTION = """
CREATE FUNCTION sys.require_ends() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    ending BIGINT;
BEGIN
    SELECT count(*) INTO ending FROM sys.opening
        LEFT JOIN sys.resource ON resource.id = opening.resource_id
        WHERE opening.end_time IS NOT NULL AND (resource.id IS NULL OR resource.enabled);
    IF ending > 0 AND ending > (
        SELECT count(*) FROM sys.casbin_rule WHERE ptype = 'p' AND v0 = 'resource' AND v2 LIKE '@% until %'
    )
    THEN
        RAISE EXCEPTION 'the revision has no ends of public access: publish it by a later version';
    END IF;
    RETURN NULL;
END $$
"""
TRIGGER = """
CREATE TRIGGER require_ends AFTER INSERT ON sys.policy_revision
    FOR EACH STATEMENT EXECUTE FUNCTION sys.require_ends()
"""


def upgrade() -> None:
    """Take the step."""
    for statement in (COLUMNS, FUNCTION, TRIGGER):
        op.execute(statement)
