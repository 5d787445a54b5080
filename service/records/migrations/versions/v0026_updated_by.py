"""The author or last editor of a record."""

from alembic import op

revision = "v0026"
down_revision = "v0025"
kind = "expand"
least_version = "0.2.0"


def upgrade() -> None:
    for table in ("user", "role", "menu", "service", "resource"):
        op.execute(f'ALTER TABLE sys."{table}" ADD COLUMN updated_by TEXT')
