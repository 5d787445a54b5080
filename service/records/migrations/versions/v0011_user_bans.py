"""Bans of users, which the session store only repeats."""

from alembic import op

revision = "v0011"
down_revision = "v0010"

_BANS = """
CREATE TABLE sys.user_ban (
    user_id BIGINT NOT NULL,
    until TIMESTAMP WITH TIME ZONE,
    reason TEXT NOT NULL,
    banned_by BIGINT NOT NULL,
    create_time TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT user_ban_pkey PRIMARY KEY (user_id),
    CONSTRAINT user_ban_user_id_fkey FOREIGN KEY (user_id) REFERENCES sys."user" (id) ON DELETE CASCADE
);
"""


def upgrade() -> None:
    op.execute(_BANS)
