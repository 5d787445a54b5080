"""Roles are asked for by persons alone: requests that services have made in their names end."""

from __future__ import annotations

from alembic import op

revision = "v0057"
down_revision = "v0056"
kind = "expand"
least_version = "0.2.0"

# Nobody can say any more who stood behind the service account: those persons ask anew, by themselves.
PENDING = """
UPDATE sys.access_request
SET state = 'failed', end_time = now(), version = version + 1,
    end_reason = 'Services no longer ask for roles in the name of persons: ask for the role yourself'
WHERE state = 'pending' AND id IN (SELECT request_id FROM sys.access_task)
"""
# No release has had it.
TABLE = "DROP TABLE sys.access_task"


def upgrade() -> None:
    """Take the step."""
    for statement in (PENDING, TABLE):
        op.execute(statement)
