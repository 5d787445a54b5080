"""Reviews of assignments, what was decided in them, and the revisions that were signed off."""

from __future__ import annotations

from alembic import op

revision = "v0051"
down_revision = "v0050"
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
EDITS = """
ALTER TABLE sys.user_role ADD COLUMN edit_time TIMESTAMP WITH TIME ZONE
"""
# Whatever writes it: nothing changes in a review that is closed, and what an item is about never does.
FUNCTIONS = """
CREATE FUNCTION sys.keep_closed_review() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.state = 'closed' OR TG_OP = 'DELETE' THEN
        RAISE EXCEPTION 'review % is kept as it is', OLD.id;
    END IF;
    RETURN NEW;
END $$;
CREATE FUNCTION sys.keep_review_item() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    decided CONSTANT TEXT[] := ARRAY['finding', 'decision', 'until', 'decision_reason', 'reviewer_id',
        'reviewer_name', 'decision_ids', 'decision_time', 'decision_entry', 'outcome', 'outcome_reason',
        'outcome_time', 'outcome_entry'];
BEGIN
    IF TG_OP = 'DELETE' THEN
        RAISE EXCEPTION 'item % of a review is kept', OLD.id;
    END IF;
    IF EXISTS (SELECT FROM sys.review WHERE id = NEW.review_id AND state = 'closed') THEN
        RAISE EXCEPTION 'review % is closed', NEW.review_id;
    END IF;
    IF TG_OP = 'UPDATE' AND (OLD.outcome IS NOT NULL
        OR to_jsonb(OLD) - decided IS DISTINCT FROM to_jsonb(NEW) - decided) THEN
        RAISE EXCEPTION 'item % of a review is kept as it is', OLD.id;
    END IF;
    RETURN NEW;
END $$;
CREATE FUNCTION sys.note_edit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.edit_time := clock_timestamp();
    RETURN NEW;
END $$;
CREATE FUNCTION sys.keep_sign_off() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'sign-off % is kept as it is', OLD.id;
END $$
"""
TRIGGERS = """
CREATE TRIGGER keep_closed_review BEFORE UPDATE OR DELETE ON sys.review FOR EACH ROW
    EXECUTE FUNCTION sys.keep_closed_review();
CREATE TRIGGER keep_review_item BEFORE INSERT OR UPDATE OR DELETE ON sys.review_item FOR EACH ROW
    EXECUTE FUNCTION sys.keep_review_item();
CREATE TRIGGER note_edit BEFORE UPDATE ON sys.user_role FOR EACH ROW
    WHEN ((OLD.valid_from, OLD.valid_until, OLD.reason) IS DISTINCT FROM
        (NEW.valid_from, NEW.valid_until, NEW.reason))
    EXECUTE FUNCTION sys.note_edit();
CREATE TRIGGER keep_sign_off BEFORE UPDATE OR DELETE ON sys.policy_sign_off FOR EACH ROW
    EXECUTE FUNCTION sys.keep_sign_off();
"""


def upgrade() -> None:
    """Take the step."""
    for statement in (REVIEWS, ITEMS, SIGN_OFFS, EDITS, FUNCTIONS, TRIGGERS):
        op.execute(statement)
