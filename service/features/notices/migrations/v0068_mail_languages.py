"""The language of each waiting mail."""

from alembic import op

revision = "v0068"
down_revision = "v0067"
kind = "expand"
least_version = "0.2.0"


def upgrade() -> None:
    op.execute("ALTER TABLE sys.mail ADD COLUMN language TEXT")
