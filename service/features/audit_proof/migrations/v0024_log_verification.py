"""When each log was last verified, and with what result."""

from alembic import op

revision = "v0024"
down_revision = "v0023"
kind = "expand"
least_version = "0.2.0"

_VERIFICATION = """
CREATE TABLE sys.log_verification (
    log TEXT CONSTRAINT log_verification_pkey PRIMARY KEY
        CONSTRAINT log_verification_log_check CHECK (log IN ('operation_log', 'login_log')),
    verify_time TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    day_count INTEGER NOT NULL,
    faulty_count INTEGER NOT NULL
);
"""


def upgrade() -> None:
    op.execute(_VERIFICATION)
