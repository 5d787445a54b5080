"""Salted commitments of personal values in the logs."""

from alembic import op

revision = "v0075"
down_revision = "v0074"
kind = "expand"
least_version = "0.2.0"


def upgrade() -> None:
    for log in ("operation_log", "login_log"):
        op.execute(f"ALTER TABLE sys.{log} ADD COLUMN salts BYTEA, ADD COLUMN erased JSONB")
