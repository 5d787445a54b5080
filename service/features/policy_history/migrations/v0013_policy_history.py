"""What each revision of the policy added and removed, who published it, and by which request."""

from alembic import op

revision = "v0013"
down_revision = "v0012"

_REVISIONS = """
ALTER TABLE sys.policy_revision
    ADD COLUMN user_name text,
    ADD COLUMN request_id text,
    ADD COLUMN added integer,
    ADD COLUMN removed integer,
    ADD COLUMN tampered integer NOT NULL DEFAULT 0;
CREATE INDEX policy_revision_tampered_idx ON sys.policy_revision (revision) WHERE tampered > 0;
"""

_LINES = """
CREATE TABLE sys.policy_line (
    id bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT policy_line_pkey PRIMARY KEY,
    layer text NOT NULL,
    object text NOT NULL,
    code text NOT NULL,
    since bigint NOT NULL,
    until bigint,
    CONSTRAINT policy_line_until_check CHECK (until > since)
);
CREATE INDEX policy_line_since_idx ON sys.policy_line (since);
CREATE INDEX policy_line_until_idx ON sys.policy_line (until) WHERE until IS NOT NULL;
"""

# History begins with the policy that is in force; what came before was never kept.
_BASELINE = """
INSERT INTO sys.policy_line (layer, object, code, since)
SELECT DISTINCT v0, v1, v2, (SELECT max(revision) FROM sys.policy_revision) FROM sys.casbin_rule
WHERE ptype = 'p' AND v0 IS NOT NULL AND v1 IS NOT NULL AND v2 IS NOT NULL
    AND EXISTS (SELECT FROM sys.policy_revision);
"""


def upgrade() -> None:
    op.execute(_REVISIONS)
    op.execute(_LINES)
    op.execute(_BASELINE)
