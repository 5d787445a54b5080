"""What roles allow their holders: personal API keys, and longer delegations to agents."""

from alembic import op

revision = "v0080"
down_revision = "v0079"
kind = "expand"
least_version = "0.2.0"

COLUMNS = """
ALTER TABLE sys.role
    ADD COLUMN personal_keys BOOLEAN DEFAULT true NOT NULL,
    ADD COLUMN max_delegation INTEGER CONSTRAINT role_max_delegation_check CHECK (max_delegation > 0)
"""


def upgrade() -> None:
    op.execute(COLUMNS)
