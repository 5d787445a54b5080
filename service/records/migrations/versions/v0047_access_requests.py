"""Requests for roles, what was decided about them, and who may not decide in the place of their authors."""

from __future__ import annotations

from alembic import op

revision = "v0047"
down_revision = "v0046"
kind = "expand"
least_version = "0.2.0"

USERS = """
ALTER TABLE sys."user" ADD COLUMN made_by BIGINT;
CREATE INDEX user_made_by_idx ON sys."user" (made_by);
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
CREATE TABLE sys.access_request_exclusion (
    request_id BIGINT NOT NULL,
    user_id BIGINT NOT NULL,
    why TEXT NOT NULL CONSTRAINT access_request_exclusion_why_check
        CHECK (why IN ('account', 'codes', 'credentials')),
    create_time TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT access_request_exclusion_pkey PRIMARY KEY (request_id, user_id),
    CONSTRAINT access_request_exclusion_request_id_fkey
        FOREIGN KEY (request_id) REFERENCES sys.access_request (id) ON DELETE CASCADE
);
CREATE INDEX access_request_exclusion_user_id_idx ON sys.access_request_exclusion (user_id);
"""
# Whatever writes it: what has ended stays as it ended.
FUNCTION = """
CREATE FUNCTION sys.keep_ended_request() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'access request % has ended', OLD.id;
END $$
"""
TRIGGER = """
CREATE TRIGGER keep_ended_request BEFORE UPDATE ON sys.access_request FOR EACH ROW
    WHEN (OLD.state <> 'pending') EXECUTE FUNCTION sys.keep_ended_request()
"""


def upgrade() -> None:
    """Take the step."""
    for statement in (USERS, REQUESTS, DECISIONS, FUNCTION, TRIGGER):
        op.execute(statement)
