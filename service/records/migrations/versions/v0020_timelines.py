"""Names the timeline of the database, which tokens carry, so that a restore can end them all."""

from alembic import op

revision = "v0020"
down_revision = "v0019"

# A database in use goes on with tokens that name no timeline: nobody is logged out by the migration. A new
# one has a name of its own: the tokens of another database that had the same signing key don't work here.
TIMELINES = """
CREATE TABLE sys.timeline (
    number INTEGER NOT NULL,
    name TEXT NOT NULL,
    begin_time TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT timeline_pkey PRIMARY KEY (number),
    CONSTRAINT timeline_name_key UNIQUE (name),
    CONSTRAINT timeline_number_check CHECK (number > 0)
);
INSERT INTO sys.timeline (number, name)
SELECT 1, CASE WHEN EXISTS (SELECT FROM sys."user") THEN ''
    ELSE left(replace(gen_random_uuid()::text, '-', ''), 12) END;
"""


def upgrade() -> None:
    op.execute(TIMELINES)
