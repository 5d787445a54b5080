"""The jobs of the scheduler, and their runs."""

from alembic import op

revision = "v0023"
down_revision = "v0022"
kind = "expand"
least_version = "0.2.0"

_JOBS = """
CREATE TABLE sys.job (
    job_name TEXT CONSTRAINT job_pkey PRIMARY KEY CONSTRAINT job_job_name_check CHECK (job_name <> ''),
    paused BOOLEAN DEFAULT false NOT NULL,
    due_time TIMESTAMP WITH TIME ZONE,
    requested_by TEXT,
    failing BOOLEAN DEFAULT false NOT NULL,
    success_time TIMESTAMP WITH TIME ZONE
);
CREATE TABLE sys.job_run (
    id BIGINT GENERATED ALWAYS AS IDENTITY CONSTRAINT job_run_pkey PRIMARY KEY,
    job_name TEXT NOT NULL CONSTRAINT job_run_job_name_fkey REFERENCES sys.job (job_name) ON DELETE CASCADE,
    worker TEXT NOT NULL,
    user_name TEXT,
    begin_time TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    end_time TIMESTAMP WITH TIME ZONE,
    outcome TEXT DEFAULT 'running' NOT NULL CONSTRAINT job_run_outcome_check
        CHECK (outcome IN ('running', 'done', 'failed', 'stopped', 'abandoned')),
    detail TEXT DEFAULT '' NOT NULL
);
CREATE INDEX job_run_job_name_id_idx ON sys.job_run (job_name, id);
"""


def upgrade() -> None:
    op.execute(_JOBS)
