"""The code and the parameters of the result of a job."""

from alembic import op

revision = "v0081"
down_revision = "v0080"
kind = "expand"
least_version = "0.2.0"

RUNS = """
ALTER TABLE sys.job_run
    ADD COLUMN detail_code TEXT,
    ADD COLUMN detail_params JSONB
"""


def upgrade() -> None:
    op.execute(RUNS)
