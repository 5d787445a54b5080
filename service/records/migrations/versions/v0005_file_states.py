"""Files on their way in or out, and the part of the object store that belongs to this database."""

from alembic import op

revision = "v0005"
down_revision = "v0004"

_STATES = """
ALTER TABLE sys.file
    ADD COLUMN state text NOT NULL DEFAULT 'stored'
        CONSTRAINT file_state_check CHECK (state IN ('pending', 'stored', 'discarded')),
    ADD COLUMN lease_time timestamptz,
    ALTER COLUMN sha256 DROP NOT NULL,
    ADD CONSTRAINT file_stored_check CHECK (state <> 'stored' OR sha256 IS NOT NULL),
    ADD CONSTRAINT file_pending_check CHECK ((state = 'pending') = (lease_time IS NOT NULL)),
    ADD CONSTRAINT file_shared_check CHECK (state = 'stored' OR token_hash IS NULL);
CREATE INDEX file_unsettled_idx ON sys.file (state) WHERE state <> 'stored';
"""

_SPACE = """
CREATE TABLE sys.object_space (
    prefix text CONSTRAINT object_space_pkey PRIMARY KEY
        CONSTRAINT object_space_prefix_check CHECK (prefix ~ '^[0-9a-f]{32}$'),
    swept_time timestamptz
);
INSERT INTO sys.object_space (prefix) VALUES (replace(gen_random_uuid()::text, '-', ''));
"""


def upgrade() -> None:
    op.execute(_STATES)
    op.execute(_SPACE)
