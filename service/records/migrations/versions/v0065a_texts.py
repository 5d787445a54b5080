"""One fold for texts that are searched, and one spelling of internationalised domains."""

import sqlalchemy as sa
from alembic import op

from service.kernel.domains import plain_address
from service.kernel.text import name_key
from service.records.schema.folding import FOLD

revision = "v0065a"
down_revision = "v0030"
kind = "expand"
least_version = "0.2.0"

# `nick_name_key` and `email_key` stay, without indexes, for versions that sort and search by them.
COLUMNS = """
ALTER TABLE sys."user"
    ADD COLUMN nick_name_folded text GENERATED ALWAYS AS (sys.folded(nick_name)) STORED,
    ADD COLUMN email_folded text GENERATED ALWAYS AS (sys.folded(email)) STORED;
DROP INDEX IF EXISTS sys.user_search_idx;
DROP INDEX sys.user_nick_name_key_id_idx;
DROP INDEX sys.user_email_key_id_idx;
CREATE INDEX user_nick_name_folded_id_idx ON sys."user" (nick_name_folded, id) INCLUDE (status);
CREATE INDEX user_email_folded_id_idx ON sys."user" (email_folded, id) INCLUDE (status);
ALTER TABLE sys.menu ADD COLUMN title_folded text GENERATED ALWAYS AS (sys.folded(title)) STORED;
ALTER TABLE sys.resource
    ADD COLUMN resource_name_folded text GENERATED ALWAYS AS (sys.folded(resource_name)) STORED;
ALTER TABLE sys.file ADD COLUMN name_folded text GENERATED ALWAYS AS (sys.folded(name)) STORED;
"""
# Few rows have such a domain, and Python alone decodes them.
LOCK = 'LOCK TABLE sys."user" IN ROW EXCLUSIVE MODE'


def upgrade() -> None:
    for statement in (FOLD, COLUMNS, LOCK):
        op.execute(statement)
    if not op.get_context().as_sql:
        spell_domains(op.get_bind())


def spell_domains(connection: sa.Connection) -> None:
    encoded = sa.text("""SELECT id, email FROM sys."user" WHERE email ~* '[@.]xn--'""")
    changed = sa.text('UPDATE sys."user" SET email = :email WHERE id = :id')
    for user_id, email in connection.execute(encoded).all():
        connection.execute(changed, {"email": plain_address(email), "id": user_id})
    named = sa.text("""SELECT id, user_name FROM sys."user" WHERE user_name_key ~ '@.*xn--'""")
    # If two accounts have one name in two spellings, the second keeps its key, which matches no login.
    keyed = sa.text(
        'UPDATE sys."user" SET user_name_key = :key WHERE id = :id'
        ' AND NOT EXISTS (SELECT FROM sys."user" WHERE user_name_key = :key)'
    )
    for user_id, user_name in connection.execute(named).all():
        connection.execute(keyed, {"key": name_key(user_name), "id": user_id})
