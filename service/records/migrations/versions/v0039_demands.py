"""How strongly somebody must have authenticated to touch a resource, and no revision that forgets it."""

from __future__ import annotations

from alembic import op

revision = "v0039"
down_revision = "v0038"
kind = "expand"
least_version = "0.2.0"

COLUMNS = """
ALTER TABLE sys.resource
    ADD COLUMN assurance TEXT CONSTRAINT resource_assurance_check CHECK (assurance ~
        '^(login|two-factors|phishing-resistant)(-within-(15m|12h))?$'),
    ADD COLUMN services BOOLEAN DEFAULT false NOT NULL
"""
# A version without the layer publishes none of its lines, and would open what a demand closes.
FUNCTION = """
CREATE FUNCTION sys.require_demands() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM sys.resource WHERE assurance IS NOT NULL AND enabled)
        AND NOT EXISTS (SELECT FROM sys.casbin_rule WHERE ptype = 'p' AND v0 = 'assurance')
    THEN
        RAISE EXCEPTION 'the revision has no demands on authentication: publish it by a later version';
    END IF;
    RETURN NULL;
END $$
"""
TRIGGER = """
CREATE TRIGGER require_demands AFTER INSERT ON sys.policy_revision
    FOR EACH STATEMENT EXECUTE FUNCTION sys.require_demands()
"""


def upgrade() -> None:
    """Take the step."""
    for statement in (COLUMNS, FUNCTION, TRIGGER):
        op.execute(statement)
