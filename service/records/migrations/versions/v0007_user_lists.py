"""Lists of users that are read by index: a key for each sort, and one index for all parts of texts."""

from alembic import op

revision = "v0007"
down_revision = "v0006"

_KEYS = """
ALTER TABLE sys."user"
    ADD COLUMN nick_name_key text GENERATED ALWAYS AS (lower(nick_name)) STORED,
    ADD COLUMN email_key text GENERATED ALWAYS AS (lower(email)) STORED;
"""

# The status comes along so that a list of the enabled users is read from the index alone.
_SORTS = """
CREATE INDEX user_user_name_key_id_idx ON sys."user" (user_name_key, id) INCLUDE (status);
CREATE INDEX user_nick_name_key_id_idx ON sys."user" (nick_name_key, id) INCLUDE (status);
CREATE INDEX user_email_key_id_idx ON sys."user" (email_key, id) INCLUDE (status);
CREATE INDEX user_status_id_idx ON sys."user" (status, id);
CREATE INDEX user_create_time_id_idx ON sys."user" (create_time, id) INCLUDE (status);
CREATE INDEX user_update_time_id_idx ON sys."user" (update_time, id) INCLUDE (status);
"""

_ROLES = """
CREATE INDEX user_role_role_id_user_id_idx ON sys.user_role (role_id, user_id);
DROP INDEX sys.user_role_role_id_idx;
"""

# pg_trgm is trusted: the owner of the database may create it. Where it may not be, or is not installed,
# lists are the same, and searching them for a part of a text reads all users.
_SEARCH = """
DO $$
DECLARE
    ops text;
BEGIN
    BEGIN
        CREATE EXTENSION IF NOT EXISTS pg_trgm WITH SCHEMA sys;
    EXCEPTION WHEN insufficient_privilege OR feature_not_supported OR undefined_file THEN
        RAISE NOTICE 'no pg_trgm: lists of users are searched without an index';
        RETURN;
    END;
    SELECT quote_ident(nspname) || '.gin_trgm_ops' INTO STRICT ops
        FROM pg_extension JOIN pg_namespace ON pg_namespace.oid = extnamespace WHERE extname = 'pg_trgm';
    EXECUTE 'CREATE INDEX user_search_idx ON sys."user" USING gin (user_name_key ' || ops
        || ', nick_name_key ' || ops || ', email_key ' || ops || ', phone ' || ops || ')';
END
$$;
"""


def upgrade() -> None:
    for step in (_KEYS, _SORTS, _ROLES, _SEARCH):
        op.execute(step)
