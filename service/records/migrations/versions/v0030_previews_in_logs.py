"""Which entries of the operation log are previews, and how many refused reads one stands for."""

from alembic import op

revision = "v0030"
down_revision = "v0029"
kind = "expand"
least_version = "0.2.0"

# Older entries tell a preview by their query: the index has them too.
_STEP = """
ALTER TABLE sys.operation_log ADD COLUMN dry_run BOOLEAN;
ALTER TABLE sys.operation_log ADD COLUMN repetitions INTEGER;
CREATE INDEX operation_log_preview_idx ON sys.operation_log (create_time)
    WHERE coalesce(dry_run, query ~ '(^|&)dryRun=true(&|$)');
"""


def upgrade() -> None:
    op.execute(_STEP)
