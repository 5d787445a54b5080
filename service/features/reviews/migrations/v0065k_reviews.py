"""Reviews of assignments, their decisions, and sign-offs of policy revisions."""

from alembic import op

revision = "v0065k"
down_revision = "v0065j"
kind = "expand"
least_version = "0.2.0"

REVIEWS = """
CREATE TABLE sys.review (
    id BIGINT GENERATED ALWAYS AS IDENTITY,
    title TEXT NOT NULL CONSTRAINT review_title_check CHECK (title <> ''),
    scope JSONB NOT NULL,
    reviewer_ids BIGINT[],
    reviewer_code TEXT,
    on_silence TEXT NOT NULL CONSTRAINT review_on_silence_check CHECK (on_silence IN ('revoke', 'keep')),
    apply TEXT NOT NULL CONSTRAINT review_apply_check CHECK (apply IN ('at_once', 'at_end')),
    deadline TIMESTAMP WITH TIME ZONE NOT NULL,
    state TEXT DEFAULT 'open' NOT NULL
        CONSTRAINT review_state_check CHECK (state IN ('open', 'closing', 'closed')),
    author_id BIGINT NOT NULL,
    author_name TEXT NOT NULL CONSTRAINT review_author_name_check CHECK (author_name <> ''),
    roles JSONB NOT NULL,
    policy_revision BIGINT NOT NULL,
    create_time TIMESTAMP WITH TIME ZONE NOT NULL,
    close_time TIMESTAMP WITH TIME ZONE,
    closed_by TEXT,
    end_time TIMESTAMP WITH TIME ZONE,
    CONSTRAINT review_pkey PRIMARY KEY (id),
    CONSTRAINT review_close_time_check CHECK ((state = 'open') = (close_time IS NULL)),
    CONSTRAINT review_end_time_check CHECK ((state = 'closed') = (end_time IS NOT NULL))
);
CREATE INDEX review_deadline_idx ON sys.review (deadline) WHERE state <> 'closed';
"""
ITEMS = """
CREATE TABLE sys.review_item (
    id BIGINT GENERATED ALWAYS AS IDENTITY,
    review_id BIGINT NOT NULL,
    user_id BIGINT NOT NULL,
    user_name TEXT NOT NULL CONSTRAINT review_item_user_name_check CHECK (user_name <> ''),
    role_id BIGINT NOT NULL,
    role_code TEXT NOT NULL CONSTRAINT review_item_role_code_check CHECK (role_code <> ''),
    assignment_id BIGINT NOT NULL,
    valid_from TIMESTAMP WITH TIME ZONE,
    valid_until TIMESTAMP WITH TIME ZONE,
    reason TEXT,
    source TEXT NOT NULL
        CONSTRAINT review_item_source_check CHECK (source IN ('direct', 'request', 'directory')),
    given_time TIMESTAMP WITH TIME ZONE,
    given_by TEXT,
    request_id BIGINT,
    last_used DATE,
    proposal TEXT CONSTRAINT review_item_proposal_check CHECK (proposal IN ('keep', 'revoke')),
    ground TEXT NOT NULL CONSTRAINT review_item_ground_check CHECK (ground <> ''),
    finding TEXT CONSTRAINT review_item_finding_check
        CHECK (finding IN ('no_reviewer', 'last_administrator', 'directory')),
    decision TEXT CONSTRAINT review_item_decision_check CHECK (decision IN ('keep', 'shorten', 'revoke')),
    until TIMESTAMP WITH TIME ZONE,
    decision_reason TEXT,
    reviewer_id BIGINT,
    reviewer_name TEXT,
    decision_ids TEXT[],
    decision_time TIMESTAMP WITH TIME ZONE,
    decision_entry TEXT,
    outcome TEXT CONSTRAINT review_item_outcome_check
        CHECK (outcome IN ('kept', 'shortened', 'revoked', 'ended', 'refused')),
    outcome_reason TEXT,
    outcome_time TIMESTAMP WITH TIME ZONE,
    outcome_entry TEXT,
    CONSTRAINT review_item_pkey PRIMARY KEY (id),
    CONSTRAINT review_item_review_id_assignment_id_key UNIQUE (review_id, assignment_id),
    CONSTRAINT review_item_decision_time_check CHECK ((decision IS NULL) = (decision_time IS NULL)),
    CONSTRAINT review_item_until_check
        CHECK ((decision IS NOT DISTINCT FROM 'shorten') = (until IS NOT NULL)),
    CONSTRAINT review_item_outcome_time_check
        CHECK ((outcome IS NULL) = (outcome_time IS NULL) AND (outcome IS NULL OR decision IS NOT NULL)),
    CONSTRAINT review_item_review_id_fkey FOREIGN KEY(review_id) REFERENCES sys.review (id)
);
CREATE INDEX review_item_pending_idx ON sys.review_item (review_id, id) WHERE outcome IS NULL;
CREATE INDEX review_item_review_id_id_idx ON sys.review_item (review_id, id);
CREATE INDEX review_item_user_id_idx ON sys.review_item (user_id);
"""
SIGN_OFFS = """
CREATE TABLE sys.policy_sign_off (
    id BIGINT GENERATED ALWAYS AS IDENTITY,
    revision BIGINT NOT NULL,
    title TEXT NOT NULL CONSTRAINT policy_sign_off_title_check CHECK (title <> ''),
    note TEXT,
    user_id BIGINT NOT NULL,
    user_name TEXT NOT NULL CONSTRAINT policy_sign_off_user_name_check CHECK (user_name <> ''),
    create_time TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT policy_sign_off_pkey PRIMARY KEY (id)
);
CREATE INDEX policy_sign_off_revision_idx ON sys.policy_sign_off (revision);
CREATE INDEX policy_sign_off_user_id_id_idx ON sys.policy_sign_off (user_id, id);
"""


def upgrade() -> None:
    for statement in (REVIEWS, ITEMS, SIGN_OFFS):
        op.execute(statement)
