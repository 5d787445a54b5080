"""Destinations that are stopped, since their receiver is gone."""

from alembic import op

revision = "v0086"
down_revision = "v0085"
kind = "expand"
least_version = "0.2.0"


def upgrade() -> None:
    op.execute("ALTER TABLE sys.rights_event_destination ADD COLUMN stop_time TIMESTAMP WITH TIME ZONE")
