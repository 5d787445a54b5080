"""The codes that an API key of a person has needed; null for keys from before the recording."""

from alembic import op

revision = "v0084"
down_revision = "v0083"
kind = "expand"
least_version = "0.2.0"


def upgrade() -> None:
    op.execute("ALTER TABLE sys.api_key ADD COLUMN needed_codes TEXT[]")
