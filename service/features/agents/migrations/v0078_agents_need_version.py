"""Delegations to agents need version 0.4.0: older versions end none with the sessions of its person."""

from alembic import op

revision = "v0078"
down_revision = "v0077"
kind = "expand"
least_version = "0.2.0"

NEEDED = """
CREATE OR REPLACE VIEW sys.needed_version AS
SELECT '0.3.0' AS version, form FROM (VALUES
    ('assignments with a beginning or an end', EXISTS (SELECT FROM sys.user_role
        WHERE valid_from IS NOT NULL) OR EXISTS (SELECT FROM sys.user_role WHERE valid_until IS NOT NULL)),
    ('second factors', EXISTS (SELECT FROM sys.user_factor
        WHERE kind <> 'recovery_codes' AND confirm_time IS NOT NULL)),
    ('initial passwords', EXISTS (SELECT FROM sys."user" WHERE password_initial IS NOT NULL)),
    ('rules of requests for access', EXISTS (SELECT FROM sys.request_rule)),
    ('open reviews', EXISTS (SELECT FROM sys.review WHERE state <> 'closed')),
    ('demands on authentication', EXISTS (SELECT FROM sys.resource
        WHERE assurance IS NOT NULL AND enabled)),
    ('public access with an end', EXISTS (SELECT FROM sys.opening WHERE end_time IS NOT NULL))
) AS forms (form, present) WHERE present
UNION ALL SELECT '0.4.0', 'API keys of people' WHERE EXISTS (SELECT FROM sys.api_key
    JOIN sys."user" ON "user".id = api_key.user_id AND "user".kind = 'person')
UNION ALL SELECT '0.4.0', 'delegations to agents' WHERE EXISTS (SELECT FROM sys.delegation)
"""
# Databases from before v0066 get the function and these triggers after their last step.
TRIGGERS = """
DO $$ BEGIN
    IF to_regproc('sys.rows_need_version') IS NOT NULL THEN
        CREATE OR REPLACE TRIGGER need_version_change AFTER INSERT OR DELETE
            ON sys.delegation FOR EACH STATEMENT EXECUTE FUNCTION sys.rows_need_version();
        CREATE OR REPLACE TRIGGER need_version_truncate AFTER TRUNCATE ON sys.delegation
            FOR EACH STATEMENT EXECUTE FUNCTION sys.rows_need_version();
    END IF;
END $$
"""


def upgrade() -> None:
    for statement in (NEEDED, TRIGGERS):
        op.execute(statement)
