"""Roles may be asked for, by rules that have lines of the policy."""

from __future__ import annotations

from alembic import op

revision = "v0046"
down_revision = "v0045"
kind = "expand"
# A version without these layers would publish revisions without their lines. So the first rule raises this.
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


def upgrade() -> None:
    """Take the step."""
    for statement in (RULES, HISTORY):
        op.execute(statement)
