"""Which passwords their owners have to change first."""

from __future__ import annotations

from alembic import op

revision = "v0038"
down_revision = "v0037"
kind = "expand"
least_version = "0.2.0"

# Of the passwords that there are, nobody knows any more who has set them.
COLUMN = """
ALTER TABLE sys."user" ADD COLUMN password_initial TEXT
    CONSTRAINT user_password_initial_check CHECK (password_initial IN ('given', 'leaked'));
"""


def upgrade() -> None:
    """Take the step."""
    op.execute(COLUMN)
