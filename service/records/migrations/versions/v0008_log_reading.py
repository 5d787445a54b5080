"""Indexes by which the logs are read: each filter in the order of time."""

from alembic import op

revision = "v0008"
down_revision = "v0007"

_OPERATIONS = """
DROP INDEX sys.operation_log_create_time_idx;
CREATE INDEX operation_log_create_time_id_idx ON sys.operation_log (create_time, id);
CREATE INDEX operation_log_user_name_create_time_idx ON sys.operation_log (user_name, create_time);
CREATE INDEX operation_log_module_create_time_idx ON sys.operation_log (module, create_time);
CREATE INDEX operation_log_kind_create_time_idx ON sys.operation_log (kind, create_time);
CREATE INDEX operation_log_failed_idx ON sys.operation_log (create_time, status) WHERE status >= 300;
CREATE INDEX operation_log_denied_idx ON sys.operation_log (create_time) WHERE decision = 'deny';
"""

_LOGINS = """
DROP INDEX sys.login_log_create_time_idx;
CREATE INDEX login_log_create_time_id_idx ON sys.login_log (create_time, id);
CREATE INDEX login_log_user_name_create_time_idx ON sys.login_log (user_name, create_time);
CREATE INDEX login_log_event_create_time_idx ON sys.login_log (event, create_time);
CREATE INDEX login_log_device_create_time_idx ON sys.login_log (device, create_time);
CREATE INDEX login_log_request_id_idx ON sys.login_log (request_id);
CREATE INDEX login_log_failed_idx ON sys.login_log (create_time) WHERE outcome = 'failure';
CREATE INDEX login_log_reason_create_time_idx ON sys.login_log (reason, create_time)
    WHERE reason IS NOT NULL;
"""


def upgrade() -> None:
    op.execute(_OPERATIONS)
    op.execute(_LOGINS)
