"""API keys of people: their use, and their end with the owner's access."""

from alembic import op

revision = "v0070"
down_revision = "v0069"
kind = "expand"
least_version = "0.2.0"

COLUMNS = """
ALTER TABLE sys.api_key
    ADD COLUMN last_use_ip INET,
    ADD COLUMN networks TEXT[] DEFAULT '{}' NOT NULL,
    ADD COLUMN remind_time TIMESTAMP WITH TIME ZONE
"""
ENDS = """
CREATE OR REPLACE FUNCTION sys.end_personal_keys() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    owner BIGINT;
BEGIN
    IF TG_TABLE_NAME = 'user_ban' THEN
        owner := NEW.user_id;
    ELSE
        owner := NEW.id;
    END IF;
    DELETE FROM sys.api_key USING sys."user"
        WHERE api_key.user_id = owner AND "user".id = owner AND "user".kind = 'person';
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER end_personal_keys AFTER UPDATE OF status ON sys."user" FOR EACH ROW
    WHEN (NEW.status = 'disabled' AND OLD.status <> 'disabled') EXECUTE FUNCTION sys.end_personal_keys();
CREATE OR REPLACE TRIGGER end_personal_keys_by_password AFTER UPDATE OF password_initial ON sys."user"
    FOR EACH ROW WHEN (NEW.password_initial = 'given') EXECUTE FUNCTION sys.end_personal_keys();
CREATE OR REPLACE TRIGGER end_personal_keys AFTER INSERT OR UPDATE ON sys.user_ban FOR EACH ROW
    EXECUTE FUNCTION sys.end_personal_keys()
"""


def upgrade() -> None:
    for statement in (COLUMNS, ENDS):
        op.execute(statement)
