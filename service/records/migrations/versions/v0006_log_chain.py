"""Entries of a day chained by hash, the heads of the chains, and entries that no log takes."""

from alembic import op

revision = "v0006"
down_revision = "v0005"

_LINKS = """
ALTER TABLE sys.{log}
    ADD COLUMN chain_key text,
    ADD COLUMN chain_number bigint,
    ADD COLUMN chain_hash bytea;
"""

_HEADS = """
CREATE TABLE sys.log_chain (
    log text NOT NULL CONSTRAINT log_chain_log_check CHECK (log IN ('operation_log', 'login_log')),
    day date NOT NULL,
    key_id text NOT NULL,
    number bigint NOT NULL CONSTRAINT log_chain_number_check CHECK (number > 0),
    hash bytea NOT NULL,
    prior_day date,
    dropped boolean NOT NULL DEFAULT false,
    seal bytea NOT NULL,
    told_number bigint NOT NULL DEFAULT 0,
    CONSTRAINT log_chain_pkey PRIMARY KEY (log, day, key_id)
);
"""

_SET_ASIDE = """
CREATE TABLE sys.log_set_aside (
    digest bytea CONSTRAINT log_set_aside_pkey PRIMARY KEY,
    log text NOT NULL CONSTRAINT log_set_aside_log_check CHECK (log IN ('operation_log', 'login_log')),
    reason text NOT NULL,
    entry text NOT NULL,
    set_aside_time timestamptz NOT NULL DEFAULT now()
);
"""


def upgrade() -> None:
    for log in ("operation_log", "login_log"):
        op.execute(_LINKS.format(log=log))
    op.execute(_HEADS)
    op.execute(_SET_ASIDE)
