"""Operation and login logs, partitioned by the time of the event."""

from alembic import op

revision = "v0003"
down_revision = "v0002"

_OPERATIONS = """
CREATE TABLE sys.operation_log (
    id bigint GENERATED ALWAYS AS IDENTITY,
    create_time timestamptz NOT NULL,
    event_id uuid NOT NULL,
    request_id text,
    user_id bigint,
    user_name text,
    device text,
    module text NOT NULL,
    action text NOT NULL,
    kind text NOT NULL,
    method text NOT NULL,
    url text NOT NULL,
    query text,
    client_ip inet,
    user_agent text,
    params jsonb,
    response jsonb,
    status smallint NOT NULL CONSTRAINT operation_log_status_check CHECK (status BETWEEN 100 AND 599),
    error text,
    elapsed_ms double precision NOT NULL
        CONSTRAINT operation_log_elapsed_ms_check CHECK (elapsed_ms >= 0),
    decision text CONSTRAINT operation_log_decision_check CHECK (decision IN ('allow', 'deny')),
    decision_id text,
    policy_revision bigint,
    CONSTRAINT operation_log_pkey PRIMARY KEY (id, create_time),
    CONSTRAINT operation_log_event_id_create_time_key UNIQUE (event_id, create_time)
) PARTITION BY RANGE (create_time);
CREATE TABLE sys.operation_log_default PARTITION OF sys.operation_log DEFAULT;
CREATE INDEX operation_log_create_time_idx ON sys.operation_log (create_time);
CREATE INDEX operation_log_user_id_create_time_idx ON sys.operation_log (user_id, create_time);
CREATE INDEX operation_log_client_ip_create_time_idx ON sys.operation_log (client_ip, create_time);
CREATE INDEX operation_log_request_id_idx ON sys.operation_log (request_id);
"""

_LOGINS = """
CREATE TABLE sys.login_log (
    id bigint GENERATED ALWAYS AS IDENTITY,
    create_time timestamptz NOT NULL,
    event_id uuid NOT NULL,
    request_id text,
    event text NOT NULL CONSTRAINT login_log_event_check CHECK (event <> ''),
    outcome text NOT NULL CONSTRAINT login_log_outcome_check CHECK (outcome IN ('success', 'failure')),
    reason text,
    user_id bigint,
    user_name text,
    device text,
    login_ip inet,
    user_agent text,
    browser text,
    os text,
    CONSTRAINT login_log_pkey PRIMARY KEY (id, create_time),
    CONSTRAINT login_log_event_id_create_time_key UNIQUE (event_id, create_time)
) PARTITION BY RANGE (create_time);
CREATE TABLE sys.login_log_default PARTITION OF sys.login_log DEFAULT;
CREATE INDEX login_log_create_time_idx ON sys.login_log (create_time);
CREATE INDEX login_log_user_id_create_time_idx ON sys.login_log (user_id, create_time);
CREATE INDEX login_log_login_ip_create_time_idx ON sys.login_log (login_ip, create_time);
"""


def upgrade() -> None:
    op.execute(_OPERATIONS)
    op.execute(_LOGINS)
