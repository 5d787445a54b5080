"""Denials of the operation log are found by the id of their decision."""

from alembic import op

revision = "v0029"
down_revision = "v0028"
kind = "expand"
least_version = "0.2.0"


def upgrade() -> None:
    op.execute(
        "CREATE INDEX operation_log_denial_idx ON sys.operation_log (decision_id) WHERE decision = 'deny'"
    )
