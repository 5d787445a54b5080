"""The language and the time zone of each user."""

from alembic import op

revision = "v0067"
down_revision = "v0066"
kind = "expand"
least_version = "0.2.0"

USERS = """
ALTER TABLE sys."user"
    ADD COLUMN language TEXT,
    ADD COLUMN time_zone TEXT
"""


def upgrade() -> None:
    op.execute(USERS)
