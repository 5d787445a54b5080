"""The index of log entries that changed rights: API keys, second factors and reviews are among them."""

from alembic import op

revision = "v0088"
down_revision = "v0087"
kind = "expand"
least_version = "0.2.0"

INDEX = """
DROP INDEX sys.operation_log_rights_idx;
CREATE INDEX operation_log_rights_idx ON sys.operation_log (create_time)
    WHERE jsonb_path_exists(changes, '$[*] ? (@.field == "roles" || @.field == "permissions"
        || @.field == "resources" || @.field == "code" || (@.field == "status" || @.field == "enabled")
        && @.before != null && @.after != null || @.field == "secondFactors" || @.target starts with "key:"
        || @.target starts with "factor:" || @.target starts with "review:")');
"""


def upgrade() -> None:
    op.execute(INDEX)
