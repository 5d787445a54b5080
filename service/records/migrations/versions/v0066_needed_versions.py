"""The least version that migrations need, beside the one that rows need."""

from alembic import op

revision = "v0066"
down_revision = "v0065n"
kind = "expand"
least_version = "0.2.0"

# What rows need comes on top of it in least_version.
COLUMN = "ALTER TABLE sys.schema_support ADD COLUMN schema_version TEXT"


def upgrade() -> None:
    op.execute(COLUMN)
