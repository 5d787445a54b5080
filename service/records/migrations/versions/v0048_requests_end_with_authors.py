"""Requests for roles end with their authors: when one is disabled, banned or deleted."""

from __future__ import annotations

from alembic import op

revision = "v0048"
down_revision = "v0047"
kind = "expand"
least_version = "0.2.0"

# By whatever way it happens: the API, a table, a command, or an older version.
FUNCTION = """
CREATE FUNCTION sys.end_requests_of_author() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    author BIGINT;
BEGIN
    IF TG_TABLE_NAME = 'user_ban' THEN
        author := NEW.user_id;
    ELSE
        author := OLD.id;
    END IF;
    -- What has expired before stays so, also where nobody has stored it yet.
    UPDATE sys.access_request SET state = 'expired', end_time = deadline, version = version + 1
        WHERE user_id = author AND state = 'pending' AND NOT complete AND deadline <= clock_timestamp();
    UPDATE sys.access_request
        SET state = 'failed', end_time = clock_timestamp(), version = version + 1,
            end_reason = 'Its author was disabled, banned or deleted'
        WHERE user_id = author AND state = 'pending';
    RETURN NULL;
END $$
"""
TRIGGERS = """
CREATE TRIGGER end_requests_of_author AFTER UPDATE OF status ON sys."user" FOR EACH ROW
    WHEN (NEW.status = 'disabled' AND OLD.status <> 'disabled') EXECUTE FUNCTION sys.end_requests_of_author();
CREATE TRIGGER end_requests_of_deleted AFTER DELETE ON sys."user" FOR EACH ROW
    EXECUTE FUNCTION sys.end_requests_of_author();
CREATE TRIGGER end_requests_of_author AFTER INSERT OR UPDATE ON sys.user_ban FOR EACH ROW
    EXECUTE FUNCTION sys.end_requests_of_author();
"""


def upgrade() -> None:
    """Take the step."""
    for statement in (FUNCTION, TRIGGERS):
        op.execute(statement)
