"""Which records a call was about, and what it changed."""

from alembic import op

revision = "v0015"
down_revision = "v0014"

_COLUMNS = """
ALTER TABLE sys.operation_log
    ADD COLUMN targets text[],
    ADD COLUMN changes jsonb,
    ADD COLUMN change_count integer;
CREATE INDEX operation_log_targets_idx ON sys.operation_log USING gin (targets) WHERE targets IS NOT NULL;
"""


def upgrade() -> None:
    op.execute(_COLUMNS)
