"""Requests for roles: the rules, which have lines of the policy, the requests, and the decisions."""

from alembic import op

revision = "v0065j"
down_revision = "v0065i"
kind = "expand"
least_version = "0.2.0"

_VALUES = """
    requestable_by TEXT NOT NULL{filled},
    stage_codes TEXT[] NOT NULL,
    stage_approvals INTEGER[] NOT NULL,
    max_duration INTEGER NOT NULL{duration},
    pending_timeout INTEGER NOT NULL{timeout},
    reason_required BOOLEAN NOT NULL,
    grant_needed BOOLEAN NOT NULL,
    assurance TEXT{assurance},
    emergency BOOLEAN NOT NULL{emergency},
"""
_STORED = _VALUES.format(
    filled=" CONSTRAINT request_rule_requestable_by_check CHECK (requestable_by <> '')",
    duration=" CONSTRAINT request_rule_max_duration_check CHECK (max_duration > 0)",
    timeout=" CONSTRAINT request_rule_pending_timeout_check CHECK (pending_timeout > 0)",
    assurance=" CONSTRAINT request_rule_assurance_check"
    " CHECK (assurance ~ '^(login|two-factors|phishing-resistant)(-within-(15m|12h))?$')",
    emergency=" CONSTRAINT request_rule_emergency_check"
    " CHECK (NOT emergency OR coalesce(assurance ~ '^(two-factors|phishing-resistant)', false))",
)
_KEPT = _VALUES.format(filled="", duration="", timeout="", assurance="", emergency="")

RULES = f"""
CREATE TABLE sys.request_rule (
    role_id BIGINT NOT NULL,
    {_STORED}
    author_id BIGINT,
    suspended BOOLEAN DEFAULT false NOT NULL,
    version INTEGER DEFAULT 1 NOT NULL CONSTRAINT request_rule_version_check CHECK (version > 0),
    create_time TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    update_time TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    updated_by TEXT,
    CONSTRAINT request_rule_pkey PRIMARY KEY (role_id),
    CONSTRAINT request_rule_role_id_fkey FOREIGN KEY (role_id) REFERENCES sys.role (id) ON DELETE CASCADE,
    CONSTRAINT request_rule_stages_check CHECK (
        cardinality(stage_codes) BETWEEN 1 AND 5 AND cardinality(stage_approvals) = cardinality(stage_codes)
        AND 1 <= ALL (stage_approvals) AND 9 >= ALL (stage_approvals))
)
"""
HISTORY = f"""
CREATE TABLE sys.request_rule_history (
    id BIGINT GENERATED ALWAYS AS IDENTITY,
    role_id BIGINT NOT NULL,
    role_code TEXT NOT NULL,
    {_KEPT}
    since BIGINT NOT NULL,
    until BIGINT,
    CONSTRAINT request_rule_history_pkey PRIMARY KEY (id),
    CONSTRAINT request_rule_history_until_check CHECK (until > since)
);
CREATE INDEX request_rule_history_since_idx ON sys.request_rule_history (since);
CREATE INDEX request_rule_history_until_idx ON sys.request_rule_history (until) WHERE until IS NOT NULL;
"""
REQUESTS = """
CREATE TABLE sys.access_request (
    id BIGINT GENERATED ALWAYS AS IDENTITY,
    user_id BIGINT NOT NULL,
    user_name TEXT NOT NULL CONSTRAINT access_request_user_name_check CHECK (user_name <> ''),
    role_id BIGINT NOT NULL,
    role_code TEXT NOT NULL CONSTRAINT access_request_role_code_check CHECK (role_code <> ''),
    state TEXT DEFAULT 'pending' NOT NULL CONSTRAINT access_request_state_check
        CHECK (state IN ('pending', 'approved', 'denied', 'expired', 'cancelled', 'failed')),
    emergency BOOLEAN DEFAULT false NOT NULL,
    valid_from TIMESTAMP WITH TIME ZONE,
    valid_until TIMESTAMP WITH TIME ZONE,
    duration INTEGER CONSTRAINT access_request_duration_check CHECK (duration > 0),
    reason TEXT,
    ticket TEXT,
    decision_id TEXT,
    asked_decision_id TEXT NOT NULL
        CONSTRAINT access_request_asked_decision_id_check CHECK (asked_decision_id <> ''),
    stage_codes TEXT[] NOT NULL,
    stage_approvals INTEGER[] NOT NULL,
    grant_needed BOOLEAN NOT NULL,
    role_permissions TEXT[],
    complete BOOLEAN DEFAULT false NOT NULL,
    create_time TIMESTAMP WITH TIME ZONE NOT NULL,
    deadline TIMESTAMP WITH TIME ZONE NOT NULL,
    end_time TIMESTAMP WITH TIME ZONE,
    ended_by TEXT,
    end_reason TEXT,
    assignment_id BIGINT,
    granted_from TIMESTAMP WITH TIME ZONE,
    granted_until TIMESTAMP WITH TIME ZONE,
    version INTEGER DEFAULT 1 NOT NULL,
    CONSTRAINT access_request_pkey PRIMARY KEY (id),
    CONSTRAINT access_request_lasting_check CHECK ((valid_until IS NULL) <> (duration IS NULL)),
    CONSTRAINT access_request_ended_check CHECK ((state = 'pending') = (end_time IS NULL)),
    CONSTRAINT access_request_assignment_id_check
        CHECK ((state = 'approved') = (assignment_id IS NOT NULL)),
    CONSTRAINT access_request_granted_check
        CHECK (num_nonnulls(granted_from, granted_until) = CASE state WHEN 'approved' THEN 2 ELSE 0 END)
);
CREATE UNIQUE INDEX access_request_pending_key ON sys.access_request (user_id, role_id)
    WHERE state = 'pending';
CREATE INDEX access_request_user_id_id_idx ON sys.access_request (user_id, id);
CREATE INDEX access_request_role_code_id_idx ON sys.access_request (role_code, id);
CREATE INDEX access_request_deadline_idx ON sys.access_request (deadline) WHERE state = 'pending';
CREATE INDEX access_request_end_time_idx ON sys.access_request (end_time) WHERE end_time IS NOT NULL;
CREATE INDEX access_request_emergency_idx ON sys.access_request (user_id) WHERE emergency;
CREATE UNIQUE INDEX access_request_assignment_id_key ON sys.access_request (assignment_id)
    WHERE assignment_id IS NOT NULL;
"""
DECISIONS = """
CREATE TABLE sys.access_decision (
    id BIGINT GENERATED ALWAYS AS IDENTITY,
    request_id BIGINT NOT NULL,
    user_id BIGINT NOT NULL,
    user_name TEXT NOT NULL CONSTRAINT access_decision_user_name_check CHECK (user_name <> ''),
    decision TEXT NOT NULL
        CONSTRAINT access_decision_decision_check CHECK (decision IN ('approve', 'deny', 'close')),
    reason TEXT NOT NULL,
    valid_until TIMESTAMP WITH TIME ZONE,
    stages INTEGER[] NOT NULL,
    decision_ids TEXT[] NOT NULL,
    create_time TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT access_decision_pkey PRIMARY KEY (id),
    CONSTRAINT access_decision_request_id_user_id_key UNIQUE (request_id, user_id),
    CONSTRAINT access_decision_request_id_fkey
        FOREIGN KEY (request_id) REFERENCES sys.access_request (id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX access_decision_closing_key ON sys.access_decision (request_id)
    WHERE decision = 'close';
CREATE INDEX access_decision_user_id_idx ON sys.access_decision (user_id);
CREATE TABLE sys.access_request_appointee (
    request_id BIGINT NOT NULL,
    user_id BIGINT NOT NULL,
    create_time TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT access_request_appointee_pkey PRIMARY KEY (request_id, user_id),
    CONSTRAINT access_request_appointee_request_id_fkey
        FOREIGN KEY (request_id) REFERENCES sys.access_request (id) ON DELETE CASCADE
);
CREATE INDEX access_request_appointee_user_id_idx ON sys.access_request_appointee (user_id);
"""


def upgrade() -> None:
    for statement in (RULES, HISTORY, REQUESTS, DECISIONS):
        op.execute(statement)
