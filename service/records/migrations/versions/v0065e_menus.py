"""What front ends need of menus."""

from alembic import op

revision = "v0065e"
down_revision = "v0065d"
kind = "expand"
least_version = "0.2.0"

COLUMNS = """
ALTER TABLE sys.menu
    ADD COLUMN hidden BOOLEAN DEFAULT false NOT NULL,
    ADD COLUMN keep_alive BOOLEAN DEFAULT false NOT NULL,
    ADD COLUMN redirect TEXT,
    ADD COLUMN link TEXT,
    ADD COLUMN badge TEXT,
    ADD COLUMN meta JSONB CONSTRAINT menu_meta_check CHECK (jsonb_typeof(meta) = 'object');
"""


def upgrade() -> None:
    op.execute(COLUMNS)
