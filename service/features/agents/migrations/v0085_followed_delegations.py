"""The last transaction that has changed the agent or the delegations of a user, for followers."""

from alembic import op

revision = "v0085"
down_revision = "v0084"
kind = "expand"
least_version = "0.2.0"

# Databases from before v0066 get the function and these triggers after their last step.
TRIGGERS = """
DO $$ BEGIN
    IF to_regproc('sys.rights_changed') IS NOT NULL THEN
        CREATE OR REPLACE TRIGGER rights_row AFTER INSERT OR DELETE OR UPDATE OF user_id, owner_id, enabled,
            suspended ON sys.agent FOR EACH ROW EXECUTE FUNCTION sys.rights_changed('user', 'user_id');
        CREATE OR REPLACE TRIGGER rights_insert AFTER INSERT ON sys.delegation
            REFERENCING NEW TABLE AS new_rows
            FOR EACH STATEMENT EXECUTE FUNCTION sys.rights_changed('user', 'user_id');
        CREATE OR REPLACE TRIGGER rights_update AFTER UPDATE ON sys.delegation
            REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
            FOR EACH STATEMENT EXECUTE FUNCTION sys.rights_changed('user', 'user_id');
        CREATE OR REPLACE TRIGGER rights_delete AFTER DELETE ON sys.delegation
            REFERENCING OLD TABLE AS old_rows
            FOR EACH STATEMENT EXECUTE FUNCTION sys.rights_changed('user', 'user_id');
        CREATE OR REPLACE TRIGGER rights_truncate AFTER TRUNCATE ON sys.agent
            FOR EACH STATEMENT EXECUTE FUNCTION sys.rights_changed();
        CREATE OR REPLACE TRIGGER rights_truncate AFTER TRUNCATE ON sys.delegation
            FOR EACH STATEMENT EXECUTE FUNCTION sys.rights_changed();
    END IF;
END $$
"""


def upgrade() -> None:
    op.execute(TRIGGERS)
