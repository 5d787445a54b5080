"""Entries of the operation log that have changed who may do what are found by an index."""

from __future__ import annotations

from alembic import op

revision = "v0035"
down_revision = "v0034"
kind = "expand"
least_version = "0.2.0"

_STEP = """
CREATE INDEX operation_log_rights_idx ON sys.operation_log (create_time)
    WHERE jsonb_path_exists(changes, '$[*] ? (@.field == "roles" || @.field == "permissions"
        || @.field == "resources" || @.field == "code")');
"""


def upgrade() -> None:
    """Take the step."""
    op.execute(_STEP)
