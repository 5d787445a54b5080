"""One fold for texts that are searched: generated columns, so that rows of every writer are found."""

from __future__ import annotations

from unicodedata import normalize

from alembic import op

revision = "v0060"
down_revision = "v0059"
kind = "expand"
least_version = "0.2.0"

# As `service.kernel.text.name_key` folds: compatibility caseless matching, without joiners and selectors.
# Of all letters that NFKD leaves, only two fold to more than one.
_JOINERS = "\u200c\u200d\ufe0e\ufe0f"
_LAST_CASED = 0x1E943
_CASED = [
    letter
    for letter in map(chr, range(0x80, _LAST_CASED + 1))
    if not "\ud800" <= letter <= "\udfff"
    and normalize("NFKD", letter) == letter
    and letter.casefold() != letter
    and letter not in "\u00df\u1e9e"
]
_UPPER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ" + "".join(_CASED)

FOLD = f"""
CREATE FUNCTION sys.folded(text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE RETURN
    CASE WHEN octet_length($1) = char_length($1) THEN lower($1 COLLATE "C")
    ELSE normalize(
        translate(
            replace(
                replace(normalize(translate($1, '{_JOINERS}', ''), NFKD), '\u00df', 'ss'), '\u1e9e', 'ss'
            ),
            '{_UPPER}',
            '{_UPPER.casefold()}'
        ),
        NFKC
    ) END;
"""

# `nick_name_key` and `email_key` stay, without indexes, for versions that sort and search by them.
COLUMNS = """
ALTER TABLE sys."user"
    ADD COLUMN nick_name_folded text GENERATED ALWAYS AS (sys.folded(nick_name)) STORED,
    ADD COLUMN email_folded text GENERATED ALWAYS AS (sys.folded(email)) STORED;
DROP INDEX sys.user_nick_name_key_id_idx;
DROP INDEX sys.user_email_key_id_idx;
CREATE INDEX user_nick_name_folded_id_idx ON sys."user" (nick_name_folded, id) INCLUDE (status);
CREATE INDEX user_email_folded_id_idx ON sys."user" (email_folded, id) INCLUDE (status);
ALTER TABLE sys.menu ADD COLUMN title_folded text GENERATED ALWAYS AS (sys.folded(title)) STORED;
ALTER TABLE sys.resource
    ADD COLUMN resource_name_folded text GENERATED ALWAYS AS (sys.folded(resource_name)) STORED;
ALTER TABLE sys.file ADD COLUMN name_folded text GENERATED ALWAYS AS (sys.folded(name)) STORED;
ALTER TABLE sys.scim_user
    ADD COLUMN display_name_folded text GENERATED ALWAYS AS (sys.folded(display_name)) STORED,
    ADD COLUMN formatted_name_folded text GENERATED ALWAYS AS (sys.folded(formatted_name)) STORED,
    ADD COLUMN email_type_folded text GENERATED ALWAYS AS (sys.folded(email_type)) STORED;
ALTER TABLE sys.scim_group
    ADD COLUMN display_name_folded text GENERATED ALWAYS AS (sys.folded(display_name)) STORED;
"""

# Only where there is an index to replace: pg_trgm may be missing.
SEARCH = """
DO $$
DECLARE
    ops text;
BEGIN
    IF to_regclass('sys.user_search_idx') IS NULL THEN
        RETURN;
    END IF;
    DROP INDEX sys.user_search_idx;
    SELECT quote_ident(nspname) || '.gin_trgm_ops' INTO STRICT ops
        FROM pg_extension JOIN pg_namespace ON pg_namespace.oid = extnamespace WHERE extname = 'pg_trgm';
    EXECUTE 'CREATE INDEX user_search_idx ON sys."user" USING gin (user_name_key ' || ops
        || ', nick_name_folded ' || ops || ', email_folded ' || ops || ', phone ' || ops || ')';
END
$$;
"""


def upgrade() -> None:
    """Take the step."""
    for step in (FOLD, COLUMNS, SEARCH):
        op.execute(step)
