"""The trace of the request that an entry of a log is about."""

from alembic import op

revision = "v0028"
down_revision = "v0027"
kind = "expand"
least_version = "0.2.0"

# Without tracing both columns stay empty, and cost nothing: neither does the index.
_STEP = """
ALTER TABLE sys.operation_log ADD COLUMN trace_id TEXT;
ALTER TABLE sys.login_log ADD COLUMN trace_id TEXT;
CREATE INDEX operation_log_trace_id_idx ON sys.operation_log (trace_id) WHERE trace_id IS NOT NULL;
CREATE INDEX login_log_trace_id_idx ON sys.login_log (trace_id) WHERE trace_id IS NOT NULL;
"""


def upgrade() -> None:
    op.execute(_STEP)
