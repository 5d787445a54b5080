"""Erasures of people; kept rows of requests, reviews and sign-offs let their values be taken out."""

from alembic import op

revision = "v0082"
down_revision = "v0081"
kind = "expand"
least_version = "0.2.0"

TABLE = """
CREATE TABLE sys.erasure (
    user_id BIGINT NOT NULL,
    begin_time TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    end_time TIMESTAMP WITH TIME ZONE,
    author_id BIGINT,
    names TEXT[],
    searched TEXT[],
    pattern TEXT,
    CONSTRAINT erasure_pkey PRIMARY KEY (user_id),
    CONSTRAINT erasure_running_check CHECK (num_nulls(end_time, names, searched, pattern) IN (1, 3)),
    CONSTRAINT erasure_pattern_check CHECK ((end_time IS NULL) = (pattern IS NOT NULL))
)
"""
FUNCTIONS = (
    """
CREATE OR REPLACE FUNCTION sys.without_person(value JSONB, pattern TEXT, mark TEXT) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    CASE jsonb_typeof(value)
    WHEN 'string' THEN
        RETURN to_jsonb(regexp_replace(value #>> '{}', pattern, mark, 'gi'));
    WHEN 'array' THEN
        RETURN (
            SELECT coalesce(jsonb_agg(sys.without_person(item, pattern, mark) ORDER BY place), '[]')
            FROM jsonb_array_elements(value) WITH ORDINALITY AS items (item, place)
        );
    WHEN 'object' THEN
        RETURN (
            SELECT coalesce(jsonb_object_agg(
                regexp_replace(key, pattern, mark, 'gi'), sys.without_person(item, pattern, mark)
            ), '{}')
            FROM jsonb_each(value) AS members (key, item)
        );
    ELSE
        RETURN value;
    END CASE;
END $$
""",
    """
CREATE OR REPLACE FUNCTION sys.is_erasure(
    row_before JSONB, row_after JSONB, owner_column TEXT, name_columns TEXT[], text_columns TEXT[]
) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT row_before - name_columns - text_columns = row_after - name_columns - text_columns AND EXISTS (
        SELECT FROM sys.erasure
        WHERE pattern IS NOT NULL AND NOT EXISTS (
            SELECT FROM unnest(name_columns) WITH ORDINALITY AS kept (name, place)
            WHERE row_before -> name IS DISTINCT FROM row_after -> name AND NOT (
                row_after ->> name = '#' || user_id AND (
                    row_before ->> name = ANY (names)
                    OR place = 1 AND row_before ->> owner_column IS NOT DISTINCT FROM user_id::text
                )
            )
        ) AND NOT EXISTS (
            SELECT FROM unnest(text_columns) AS kept (name)
            WHERE row_before -> name IS DISTINCT FROM row_after -> name AND row_after -> name
                IS DISTINCT FROM sys.without_person(row_before -> name, pattern, '#' || user_id)
        )
    )
$$
""",
    """
CREATE OR REPLACE FUNCTION sys.keep_ended_request() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF sys.is_erasure(to_jsonb(OLD), to_jsonb(NEW), 'user_id',
        ARRAY['user_name', 'ended_by'], ARRAY['reason', 'ticket', 'end_reason']) THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'access request % has ended', OLD.id;
END $$
""",
    """
CREATE OR REPLACE FUNCTION sys.keep_closed_review() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND sys.is_erasure(to_jsonb(OLD), to_jsonb(NEW), 'author_id',
        ARRAY['author_name', 'closed_by'], ARRAY['title', 'scope']) THEN
        RETURN NEW;
    END IF;
    IF OLD.state = 'closed' OR TG_OP = 'DELETE' THEN
        RAISE EXCEPTION 'review % is kept as it is', OLD.id;
    END IF;
    RETURN NEW;
END $$
""",
    """
CREATE OR REPLACE FUNCTION sys.keep_review_item() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    decided CONSTANT TEXT[] := ARRAY['finding', 'decision', 'until', 'decision_reason', 'reviewer_id',
        'reviewer_name', 'decision_ids', 'decision_time', 'decision_entry', 'outcome', 'outcome_reason',
        'outcome_time', 'outcome_entry'];
BEGIN
    IF TG_OP = 'DELETE' THEN
        RAISE EXCEPTION 'item % of a review is kept', OLD.id;
    END IF;
    IF TG_OP = 'UPDATE' AND sys.is_erasure(to_jsonb(OLD), to_jsonb(NEW), 'user_id',
        ARRAY['user_name', 'given_by', 'reviewer_name'],
        ARRAY['reason', 'decision_reason', 'outcome_reason']) THEN
        RETURN NEW;
    END IF;
    IF EXISTS (SELECT FROM sys.review WHERE id = NEW.review_id AND state = 'closed') THEN
        RAISE EXCEPTION 'review % is closed', NEW.review_id;
    END IF;
    IF TG_OP = 'UPDATE' AND (OLD.outcome IS NOT NULL
        OR to_jsonb(OLD) - decided IS DISTINCT FROM to_jsonb(NEW) - decided) THEN
        RAISE EXCEPTION 'item % of a review is kept as it is', OLD.id;
    END IF;
    RETURN NEW;
END $$
""",
    """
CREATE OR REPLACE FUNCTION sys.keep_sign_off() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND sys.is_erasure(to_jsonb(OLD), to_jsonb(NEW), 'user_id',
        ARRAY['user_name'], ARRAY['note', 'title']) THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'sign-off % is kept as it is', OLD.id;
END $$
""",
)


def upgrade() -> None:
    op.execute(TABLE)
    for statement in FUNCTIONS:
        op.execute(statement)
