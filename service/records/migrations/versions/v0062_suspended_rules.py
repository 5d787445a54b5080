"""Rules of roles are suspended when their authors may not grant what the roles come to give.

And resources that demand nothing say nothing of service accounts: the next demand would not hold for these.
"""

from __future__ import annotations

from alembic import op

revision = "v0062"
down_revision = "v0061"
kind = "expand"
least_version = "0.2.0"

# A name may belong to somebody else by now: only an account that was there at the edit can be its author.
AUTHORS = """
UPDATE sys.request_rule AS rule SET author_id = author.id FROM sys."user" AS author
WHERE author.user_name = rule.updated_by AND author.create_time <= rule.update_time
"""


def upgrade() -> None:
    """Take the step."""
    op.execute(
        "ALTER TABLE sys.request_rule ADD COLUMN author_id BIGINT, "
        "ADD COLUMN suspended BOOLEAN DEFAULT false NOT NULL"
    )
    op.execute(AUTHORS)
    op.execute("ALTER TABLE sys.access_request ADD COLUMN role_permissions TEXT[]")
    op.execute(
        "UPDATE sys.resource SET services = false, version = version + 1 WHERE services AND assurance IS NULL"
    )
