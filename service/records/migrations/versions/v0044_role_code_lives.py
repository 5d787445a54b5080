"""What roles gave is kept: from when until when each gave which code, by whichever edit that has changed."""

from __future__ import annotations

from alembic import op

revision = "v0044"
down_revision = "v0043"
kind = "expand"
least_version = "0.2.0"

LIVES = """
CREATE TABLE sys.role_code_life (
    id BIGINT GENERATED ALWAYS AS IDENTITY,
    role_id BIGINT NOT NULL,
    role_code TEXT NOT NULL,
    menu_id BIGINT NOT NULL,
    code TEXT NOT NULL,
    begin_time TIMESTAMP WITH TIME ZONE NOT NULL,
    end_time TIMESTAMP WITH TIME ZONE,
    CONSTRAINT role_code_life_pkey PRIMARY KEY (id)
);
CREATE INDEX role_code_life_begin_time_idx ON sys.role_code_life (begin_time);
CREATE INDEX role_code_life_open_idx ON sys.role_code_life (role_id) WHERE end_time IS NULL;
"""

# All changes of a transaction happen at its beginning, so that a code that is removed and given again has no
# gap. Only what another transaction has begun since then ends later. The empty code is the role itself.
KEEP = """
CREATE FUNCTION sys.keep_codes_of_roles(concerned BIGINT[]) RETURNS void LANGUAGE sql AS $$
    WITH given AS MATERIALIZED (
        SELECT role.id AS role_id, role.role_code, 0::bigint AS menu_id, ''::text AS code
        FROM sys.role WHERE role.id = ANY (concerned)
        UNION ALL
        SELECT role.id, role.role_code, menu.id, menu.auth_mark
        FROM sys.role
        JOIN sys.role_menu ON role_menu.role_id = role.id
        JOIN sys.menu ON menu.id = role_menu.menu_id
        WHERE role.id = ANY (concerned) AND role.enabled AND menu.menu_type = 'Button' AND menu.enabled
    ), ended AS (
        UPDATE sys.role_code_life life
        SET end_time = CASE WHEN begin_time > now() THEN clock_timestamp() ELSE now() END
        WHERE life.end_time IS NULL AND life.role_id = ANY (concerned) AND NOT EXISTS (
            SELECT FROM given
            WHERE (given.role_id, given.role_code, given.menu_id, given.code)
                = (life.role_id, life.role_code, life.menu_id, life.code)
        )
    )
    INSERT INTO sys.role_code_life (role_id, role_code, menu_id, code, begin_time)
    SELECT given.role_id, given.role_code, given.menu_id, given.code, now()
    FROM given
    WHERE NOT EXISTS (
        SELECT FROM sys.role_code_life life
        WHERE life.end_time IS NULL
            AND (given.role_id, given.role_code, given.menu_id, given.code)
                = (life.role_id, life.role_code, life.menu_id, life.code)
    )
$$;
"""

# Triggers, so that versions without the table, and edits by hand, are kept too.
CHANGED = """
CREATE FUNCTION sys.role_codes_changed() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE concerned BIGINT[];
BEGIN
    IF TG_OP = 'TRUNCATE' THEN
        concerned := ARRAY (SELECT DISTINCT role_id FROM sys.role_code_life WHERE end_time IS NULL);
    ELSIF TG_TABLE_NAME = 'menu' THEN
        concerned := ARRAY (
            SELECT DISTINCT role_menu.role_id
            FROM old_rows JOIN new_rows USING (id) JOIN sys.role_menu ON role_menu.menu_id = id
            WHERE (old_rows.menu_type, old_rows.auth_mark, old_rows.enabled)
                IS DISTINCT FROM (new_rows.menu_type, new_rows.auth_mark, new_rows.enabled)
        );
    ELSIF TG_TABLE_NAME = 'role' AND TG_OP = 'UPDATE' THEN
        concerned := ARRAY (
            SELECT id FROM old_rows JOIN new_rows USING (id)
            WHERE (old_rows.role_code, old_rows.enabled) <> (new_rows.role_code, new_rows.enabled)
        );
    ELSIF TG_TABLE_NAME = 'role' AND TG_OP = 'INSERT' THEN
        concerned := ARRAY (SELECT id FROM new_rows);
    ELSIF TG_TABLE_NAME = 'role' THEN
        concerned := ARRAY (SELECT id FROM old_rows);
    ELSIF TG_OP = 'INSERT' THEN
        concerned := ARRAY (SELECT DISTINCT role_id FROM new_rows);
    ELSIF TG_OP = 'DELETE' THEN
        concerned := ARRAY (SELECT DISTINCT role_id FROM old_rows);
    ELSE
        concerned := ARRAY (SELECT role_id FROM old_rows UNION SELECT role_id FROM new_rows);
    END IF;
    IF concerned <> '{}' THEN
        PERFORM sys.keep_codes_of_roles(concerned);
    END IF;
    RETURN NULL;
END
$$;
"""
_ROWS = {
    "INSERT": "REFERENCING NEW TABLE AS new_rows",
    "UPDATE": "REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows",
    "DELETE": "REFERENCING OLD TABLE AS old_rows",
    "TRUNCATE": "",
}
_WATCHED = {"role": tuple(_ROWS), "role_menu": tuple(_ROWS), "menu": ("UPDATE",)}
# Of what roles gave before this step, nothing is known.
BEGIN = "SELECT sys.keep_codes_of_roles(ARRAY (SELECT id FROM sys.role))"


def upgrade() -> None:
    """Take the step."""
    for statement in (LIVES, KEEP, CHANGED):
        op.execute(statement)
    for table, events in _WATCHED.items():
        for event in events:
            op.execute(
                f"CREATE TRIGGER codes_{event.lower()} AFTER {event} ON sys.{table} {_ROWS[event]}"
                " FOR EACH STATEMENT EXECUTE FUNCTION sys.role_codes_changed()"
            )
    op.execute(BEGIN)
