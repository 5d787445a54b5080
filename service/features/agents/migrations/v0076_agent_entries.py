"""The index of the operation log by agent."""

from alembic import op

revision = "v0076"
down_revision = "v0075"
kind = "expand"
least_version = "0.2.0"

INDEX = """
CREATE INDEX operation_log_agent_idx ON sys.operation_log (device, create_time)
    WHERE device LIKE 'agent:%'
"""


def upgrade() -> None:
    op.execute(INDEX)
