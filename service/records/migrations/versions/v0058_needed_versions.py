"""The least version follows the rows that older versions would misread, up and down."""

from __future__ import annotations

from alembic import op

revision = "v0058"
down_revision = "v0057"
kind = "expand"
least_version = "0.2.0"

# What the migrations alone need; what rows need comes on top of it in least_version.
COLUMN = """
ALTER TABLE sys.schema_support ADD COLUMN schema_version TEXT;
"""
INDEXES = """
CREATE INDEX user_password_initial_idx ON sys."user" (id) WHERE password_initial IS NOT NULL;
CREATE INDEX resource_assurance_idx ON sys.resource (id) WHERE assurance IS NOT NULL AND enabled;
CREATE INDEX opening_end_time_idx ON sys.opening (id) WHERE end_time IS NOT NULL;
"""
# A later migration that adds a form replaces the view, and gives its table the triggers.
VIEW = """
CREATE VIEW sys.needed_version AS
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
) AS forms (form, present) WHERE present;
"""
NUMBERS = r"""
CREATE FUNCTION sys.version_numbers(version TEXT) RETURNS int[] LANGUAGE sql IMMUTABLE AS $$
    SELECT string_to_array(substring(version FROM '^[0-9]+(?:\.[0-9]+)*'), '.')::int[]
$$;
"""
LEAST = """
CREATE FUNCTION sys.needed_least_version() RETURNS text LANGUAGE sql VOLATILE AS $$
    SELECT version FROM (
        SELECT schema_version AS version FROM sys.schema_support
        UNION ALL SELECT version FROM sys.needed_version
    ) AS versions WHERE version IS NOT NULL ORDER BY sys.version_numbers(version) DESC LIMIT 1
$$;
"""
# Transactions that add rows share a lock on the version until they commit. Only a transaction that is alone
# may lower the version: the rows of another one, which can't be seen yet, might need it.
SETTLE = """
CREATE FUNCTION sys.settle_least_version(adds BOOLEAN) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    stored TEXT;
    needed TEXT;
BEGIN
    IF adds THEN
        PERFORM FROM sys.schema_support FOR KEY SHARE;
    END IF;
    SELECT least_version INTO stored FROM sys.schema_support;
    needed := sys.needed_least_version();
    IF stored IS NULL OR stored = needed THEN
        RETURN;
    END IF;
    IF sys.version_numbers(needed) < sys.version_numbers(stored) THEN
        PERFORM FROM sys.schema_support FOR UPDATE SKIP LOCKED;
        IF NOT FOUND OR current_setting('transaction_isolation') <> 'read committed' THEN
            RETURN;
        END IF;
        needed := sys.needed_least_version();
    END IF;
    UPDATE sys.schema_support SET least_version = needed;
END $$;
CREATE FUNCTION sys.rows_need_version() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM sys.settle_least_version(TG_OP IN ('INSERT', 'UPDATE'));
    RETURN NULL;
END $$;
"""
_WATCHED = {
    "user_role": "valid_from, valid_until",
    "user_factor": "kind, confirm_time",
    '"user"': "password_initial",
    "request_rule": "role_id",
    "review": "state",
    "resource": "assurance, enabled",
    "opening": "end_time",
}


def upgrade() -> None:
    """Take the step."""
    for statement in (COLUMN, INDEXES, VIEW, NUMBERS, LEAST, SETTLE):
        op.execute(statement)
    for table, columns in _WATCHED.items():
        for name, event in {
            "change": f"INSERT OR DELETE OR UPDATE OF {columns}",
            "truncate": "TRUNCATE",
        }.items():
            op.execute(
                f"CREATE TRIGGER need_version_{name} AFTER {event} ON sys.{table} FOR EACH STATEMENT "
                "EXECUTE FUNCTION sys.rows_need_version()"
            )
