"""The last transaction that has changed each user, role and API key, for followers."""

from alembic import op

revision = "v0065n"
down_revision = "v0065m"
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


def upgrade() -> None:
    op.execute(TABLE)
