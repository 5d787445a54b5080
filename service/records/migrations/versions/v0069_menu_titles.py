"""The titles of menus in other languages."""

from alembic import op

revision = "v0069"
down_revision = "v0068"
kind = "expand"
least_version = "0.2.0"

TITLES = """
ALTER TABLE sys.menu
    ADD COLUMN titles JSONB CONSTRAINT menu_titles_check CHECK (jsonb_typeof(titles) = 'object')
"""


def upgrade() -> None:
    op.execute(TITLES)
