"""Bit positions that wait until they can be given again, and the lives of access tokens."""

from alembic import op

revision = "v0010"
down_revision = "v0009"

_TABLES = """
CREATE TABLE sys.retired_bit (
    position integer CONSTRAINT retired_bit_pkey PRIMARY KEY,
    revision bigint NOT NULL,
    user_id bigint,
    free_time timestamptz NOT NULL
);
CREATE INDEX retired_bit_free_time_idx ON sys.retired_bit (free_time);
CREATE TABLE sys.token_life (
    seconds integer CONSTRAINT token_life_pkey PRIMARY KEY,
    last_time timestamptz NOT NULL DEFAULT now()
);
"""

# How long tokens of the version before live is not known; no session lives longer unless it is set so.
_FORMER = """
INSERT INTO sys.token_life (seconds) SELECT 2592000 WHERE EXISTS (SELECT FROM sys.menu);
INSERT INTO sys.retired_bit (position, revision, free_time)
SELECT one, coalesce((SELECT max(revision) FROM sys.policy_revision), 0), now() + interval '30 days'
FROM sys.menu_bit_position_seq, generate_series(0, last_value::integer) one
WHERE is_called AND NOT EXISTS (SELECT FROM sys.menu WHERE bit_position = one);
"""


def upgrade() -> None:
    op.execute(_TABLES)
    op.execute(_FORMER)
