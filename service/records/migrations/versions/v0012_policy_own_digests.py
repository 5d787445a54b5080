"""By which own part of the policy each worker decides."""

from alembic import op

revision = "v0012"
down_revision = "v0011"


def upgrade() -> None:
    op.execute("ALTER TABLE sys.policy_worker ADD COLUMN own_digest text")
