"""Which revision of the policy each worker decides by."""

from alembic import op

revision = "v0004"
down_revision = "v0003"

_WORKERS = """
CREATE TABLE sys.policy_worker (
    worker text CONSTRAINT policy_worker_pkey PRIMARY KEY
        CONSTRAINT policy_worker_worker_check CHECK (worker <> ''),
    revision bigint NOT NULL CONSTRAINT policy_worker_revision_check CHECK (revision >= 0),
    fault text,
    seen_time timestamptz NOT NULL DEFAULT now()
);
"""


def upgrade() -> None:
    op.execute(_WORKERS)
