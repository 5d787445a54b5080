"""The index of log entries that changed rights: what was enabled or disabled is among them."""

from alembic import op

revision = "v0087"
down_revision = "v0086"
kind = "expand"
least_version = "0.2.0"

INDEX = """
DROP INDEX sys.operation_log_rights_idx;
CREATE INDEX operation_log_rights_idx ON sys.operation_log (create_time)
    WHERE jsonb_path_exists(changes, '$[*] ? (@.field == "roles" || @.field == "permissions"
        || @.field == "resources" || @.field == "code" || (@.field == "status" || @.field == "enabled")
        && @.before != null && @.after != null)');
"""


def upgrade() -> None:
    op.execute(INDEX)
