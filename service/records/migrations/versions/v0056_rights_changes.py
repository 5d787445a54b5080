"""Which transaction has changed each user, role and API key last, for those that follow rights elsewhere."""

from __future__ import annotations

from alembic import op

revision = "v0056"
down_revision = "v0055"
kind = "expand"
least_version = "0.2.0"

TABLE = """
CREATE TABLE sys.rights_change (
    noun TEXT NOT NULL CONSTRAINT rights_change_noun_check CHECK (noun IN ('user', 'role', 'key', 'all')),
    id BIGINT NOT NULL,
    transaction BIGINT NOT NULL,
    CONSTRAINT rights_change_pkey PRIMARY KEY (noun, id)
);
CREATE INDEX rights_change_transaction_idx ON sys.rights_change (transaction);
"""
# In the order of ids, so that two transactions never wait for one another in a circle.
NOTE = """
CREATE FUNCTION sys.note_rights(noun TEXT, concerned BIGINT[]) RETURNS void LANGUAGE sql AS $$
    INSERT INTO sys.rights_change AS kept
    SELECT noun, concerned_id, pg_current_xact_id()::text::bigint
    FROM (SELECT DISTINCT unnest(concerned) AS concerned_id ORDER BY 1) AS ordered
    ON CONFLICT (noun, id) DO UPDATE SET transaction = excluded.transaction
    WHERE kept.transaction <> excluded.transaction
$$;
"""
# Triggers, so that older versions, and edits by hand, are followed too. After a TRUNCATE all is read anew.
CHANGED = """
CREATE FUNCTION sys.rights_changed() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE concerned BIGINT[];
BEGIN
    IF TG_OP = 'TRUNCATE' THEN
        PERFORM sys.note_rights('all', ARRAY [0]);
    ELSIF TG_LEVEL = 'ROW' THEN
        PERFORM sys.note_rights(TG_ARGV[0], ARRAY [(to_jsonb(coalesce(NEW, OLD)) ->> TG_ARGV[1])::bigint]);
    ELSE
        IF TG_OP IN ('INSERT', 'UPDATE') THEN
            EXECUTE format('SELECT array_agg(%I) FROM new_rows', TG_ARGV[1]) INTO concerned;
        END IF;
        IF TG_OP IN ('DELETE', 'UPDATE') THEN
            EXECUTE format('SELECT $1 || array_agg(%I) FROM old_rows', TG_ARGV[1])
                INTO concerned USING concerned;
        END IF;
        IF concerned <> '{}' THEN
            PERFORM sys.note_rights(TG_ARGV[0], concerned);
        END IF;
    END IF;
    RETURN NULL;
END
$$;
"""
_ROWS = {
    "INSERT": "REFERENCING NEW TABLE AS new_rows",
    "UPDATE": "REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows",
    "DELETE": "REFERENCING OLD TABLE AS old_rows",
}
# Of many rows at once; role_code_life has what each role gives.
_IN_BULK = {"user_role": ("user", "user_id"), "role_code_life": ("role", "role_id")}
# Of few rows, or often changed in a way that says nothing about rights.
_BY_ROW = {
    '"user"': ("user", "id", "status, kind, service, user_name, user_name_key"),
    "user_ban": ("user", "user_id", "user_id, until"),
    "api_key": ("key", "id", "user_id, scopes, expire_time"),
}


def upgrade() -> None:
    """Take the step."""
    for statement in (TABLE, NOTE, CHANGED):
        op.execute(statement)
    run = "EXECUTE FUNCTION sys.rights_changed"
    for table, (noun, column) in _IN_BULK.items():
        for event, rows in _ROWS.items():
            made = f"CREATE TRIGGER rights_{event.lower()} AFTER {event} ON sys.{table} {rows}"
            op.execute(f"{made} FOR EACH STATEMENT {run}('{noun}', '{column}')")
    for table, (noun, column, watched) in _BY_ROW.items():
        made = f"CREATE TRIGGER rights_row AFTER INSERT OR DELETE OR UPDATE OF {watched} ON sys.{table}"
        op.execute(f"{made} FOR EACH ROW {run}('{noun}', '{column}')")
    for table in (*_IN_BULK, *_BY_ROW):
        op.execute(f"CREATE TRIGGER rights_truncate AFTER TRUNCATE ON sys.{table} FOR EACH STATEMENT {run}()")
