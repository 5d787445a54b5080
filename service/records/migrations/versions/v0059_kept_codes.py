"""A code that a role keeps in an edit has been given since it was given first, whichever way it is edited."""

from __future__ import annotations

from alembic import op

revision = "v0059"
down_revision = "v0058"
kind = "expand"
least_version = "0.2.0"

INDEX = "CREATE INDEX role_code_life_role_id_end_time_idx ON sys.role_code_life (role_id, end_time)"

# As before, but that a code which this transaction has taken and gives again goes on: older versions write
# all Buttons of a role anew.
KEEP = """
CREATE OR REPLACE FUNCTION sys.keep_codes_of_roles(concerned BIGINT[]) RETURNS void LANGUAGE sql AS $$
    WITH given AS MATERIALIZED (
        SELECT role.id AS role_id, role.role_code, 0::bigint AS menu_id, ''::text AS code
        FROM sys.role WHERE role.id = ANY (concerned)
        UNION ALL
        SELECT role.id, role.role_code, menu.id, menu.auth_mark
        FROM sys.role
        JOIN sys.role_menu ON role_menu.role_id = role.id
        JOIN sys.menu ON menu.id = role_menu.menu_id
        WHERE role.id = ANY (concerned) AND role.enabled AND menu.menu_type = 'Button' AND menu.enabled
    ), missing AS MATERIALIZED (
        SELECT * FROM given
        WHERE NOT EXISTS (
            SELECT FROM sys.role_code_life life
            WHERE life.end_time IS NULL
                AND (given.role_id, given.role_code, given.menu_id, given.code)
                    = (life.role_id, life.role_code, life.menu_id, life.code)
        )
    ), ended AS (
        UPDATE sys.role_code_life life
        SET end_time = CASE WHEN begin_time > now() THEN clock_timestamp() ELSE now() END
        WHERE life.end_time IS NULL AND life.role_id = ANY (concerned) AND NOT EXISTS (
            SELECT FROM given
            WHERE (given.role_id, given.role_code, given.menu_id, given.code)
                = (life.role_id, life.role_code, life.menu_id, life.code)
        )
    ), resumed AS (
        UPDATE sys.role_code_life life
        SET end_time = NULL
        FROM missing
        WHERE life.end_time = now()
            AND (missing.role_id, missing.role_code, missing.menu_id, missing.code)
                = (life.role_id, life.role_code, life.menu_id, life.code)
        RETURNING life.role_id, life.role_code, life.menu_id, life.code
    )
    INSERT INTO sys.role_code_life (role_id, role_code, menu_id, code, begin_time)
    SELECT missing.role_id, missing.role_code, missing.menu_id, missing.code, now()
    FROM missing
    WHERE (missing.role_id, missing.role_code, missing.menu_id, missing.code)
        NOT IN (SELECT role_id, role_code, menu_id, code FROM resumed)
$$;
"""

# What edits have cut into pieces without a gap becomes one: the last piece begins with the first.
JOIN = """
WITH pieces AS (
    SELECT id, role_id, menu_id, role_code, code, begin_time,
        lag(end_time) OVER given IS DISTINCT FROM begin_time AS is_first
    FROM sys.role_code_life
    WINDOW given AS (PARTITION BY role_id, role_code, menu_id, code ORDER BY begin_time, id)
), numbered AS (
    SELECT *, count(*) FILTER (WHERE is_first) OVER (
        PARTITION BY role_id, role_code, menu_id, code ORDER BY begin_time, id
    ) AS whole
    FROM pieces
), wholes AS (
    SELECT min(begin_time) AS begin_time, (array_agg(id ORDER BY begin_time DESC, id DESC)) AS ids
    FROM numbered GROUP BY role_id, role_code, menu_id, code, whole HAVING count(*) > 1
), gone AS (
    DELETE FROM sys.role_code_life life USING wholes WHERE life.id = ANY (wholes.ids[2:])
)
UPDATE sys.role_code_life life SET begin_time = wholes.begin_time FROM wholes WHERE life.id = wholes.ids[1]
"""


def upgrade() -> None:
    """Take the step."""
    for statement in (INDEX, KEEP, JOIN):
        op.execute(statement)
