"""Events about rights: their tables, and the triggers that record them."""

from alembic import op

revision = "v0072"
down_revision = "v0071"
kind = "expand"
least_version = "0.2.0"

TABLES = """
CREATE TABLE sys.rights_event_recording (
    only_row BOOLEAN DEFAULT true NOT NULL,
    since_time TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT rights_event_recording_pkey PRIMARY KEY (only_row),
    CONSTRAINT rights_event_recording_only_row_check CHECK (only_row)
);
CREATE TABLE sys.rights_event_new (
    id BIGINT GENERATED ALWAYS AS IDENTITY,
    event_id UUID DEFAULT gen_random_uuid() NOT NULL,
    kind TEXT NOT NULL,
    user_id BIGINT,
    event_time TIMESTAMP WITH TIME ZONE DEFAULT clock_timestamp() NOT NULL,
    data JSONB NOT NULL,
    CONSTRAINT rights_event_new_pkey PRIMARY KEY (id)
);
CREATE TABLE sys.rights_event (
    position BIGINT GENERATED ALWAYS AS IDENTITY,
    event_id UUID NOT NULL,
    kind TEXT NOT NULL,
    user_id BIGINT,
    event_time TIMESTAMP WITH TIME ZONE NOT NULL,
    data JSONB NOT NULL,
    CONSTRAINT rights_event_pkey PRIMARY KEY (position),
    CONSTRAINT rights_event_event_id_key UNIQUE (event_id)
);
CREATE INDEX rights_event_user_id_position_idx ON sys.rights_event (user_id, position);
CREATE INDEX rights_event_event_time_idx ON sys.rights_event (event_time);
CREATE TABLE sys.rights_event_due (
    assignment_id BIGINT NOT NULL,
    due_time TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT rights_event_due_pkey PRIMARY KEY (assignment_id)
);
CREATE INDEX rights_event_due_due_time_idx ON sys.rights_event_due (due_time)
"""
TRIGGERS = """
CREATE OR REPLACE FUNCTION sys.record_event(kind TEXT, user_id BIGINT, data JSONB) RETURNS void
LANGUAGE sql AS $$
    INSERT INTO sys.rights_event_new (kind, user_id, data)
    SELECT kind, user_id, data WHERE EXISTS (SELECT FROM sys.rights_event_recording)
$$;
CREATE OR REPLACE FUNCTION sys.note_event() RETURNS trigger LANGUAGE plpgsql SET timezone TO 'UTC' AS $$
DECLARE
    stored JSONB;
    facts JSONB;
    concerned BIGINT;
BEGIN
    IF NOT EXISTS (SELECT FROM sys.rights_event_recording) THEN
        RETURN NULL;
    END IF;
    stored := to_jsonb(coalesce(NEW, OLD));
    concerned := (stored ->> TG_ARGV[1])::bigint;
    IF TG_OP = 'DELETE' AND TG_TABLE_NAME <> 'user'
        AND NOT EXISTS (SELECT FROM sys."user" WHERE id = concerned)
    THEN
        RETURN NULL;
    END IF;
    SELECT coalesce(jsonb_object_agg(split_part(pair, '=', 2), stored -> split_part(pair, '=', 1)), '{}')
        INTO facts FROM unnest(string_to_array(TG_ARGV[2], ' ')) AS pair;
    IF facts ? 'roleId' THEN
        facts := facts || jsonb_build_object('roleName', (
            SELECT role_name FROM sys.role WHERE id = (facts ->> 'roleId')::bigint
        ));
    END IF;
    PERFORM sys.record_event(TG_ARGV[0], concerned, facts);
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER note_event_disabled AFTER UPDATE OF status ON sys."user" FOR EACH ROW
    WHEN (NEW.status = 'disabled' AND OLD.status <> 'disabled')
    EXECUTE FUNCTION sys.note_event('user.disabled', 'id', 'kind=accountKind');
CREATE OR REPLACE TRIGGER note_event_enabled AFTER UPDATE OF status ON sys."user" FOR EACH ROW
    WHEN (NEW.status = 'enabled' AND OLD.status <> 'enabled')
    EXECUTE FUNCTION sys.note_event('user.enabled', 'id', 'kind=accountKind');
CREATE OR REPLACE TRIGGER note_event_deleted AFTER DELETE ON sys."user" FOR EACH ROW
    EXECUTE FUNCTION sys.note_event('user.deleted', 'id', 'kind=accountKind');
CREATE OR REPLACE TRIGGER note_event_banned AFTER INSERT OR UPDATE ON sys.user_ban FOR EACH ROW
    EXECUTE FUNCTION sys.note_event('user.banned', 'user_id', 'until=until');
CREATE OR REPLACE TRIGGER note_event_unbanned AFTER DELETE ON sys.user_ban FOR EACH ROW
    EXECUTE FUNCTION sys.note_event('user.unbanned', 'user_id', 'until=until');
CREATE OR REPLACE TRIGGER note_event_created AFTER INSERT ON sys.api_key FOR EACH ROW
    EXECUTE FUNCTION sys.note_event('key.created', 'user_id', 'id=keyId expire_time=expiresTime');
CREATE OR REPLACE TRIGGER note_event_revoked AFTER DELETE ON sys.api_key FOR EACH ROW
    EXECUTE FUNCTION sys.note_event('key.revoked', 'user_id', 'id=keyId expire_time=expiresTime');
CREATE OR REPLACE TRIGGER note_event AFTER INSERT ON sys.access_request FOR EACH ROW
    EXECUTE FUNCTION sys.note_event('access_request.submitted', 'user_id',
        'id=requestId role_id=roleId role_code=roleCode emergency=emergency');
CREATE OR REPLACE TRIGGER note_event_at_once AFTER INSERT ON sys.access_request FOR EACH ROW
    WHEN (NEW.state <> 'pending')
    EXECUTE FUNCTION sys.note_event('access_request.decided', 'user_id',
        'id=requestId role_id=roleId role_code=roleCode emergency=emergency state=state');
CREATE OR REPLACE TRIGGER note_event_decided AFTER UPDATE OF state ON sys.access_request FOR EACH ROW
    WHEN (NEW.state <> OLD.state)
    EXECUTE FUNCTION sys.note_event('access_request.decided', 'user_id',
        'id=requestId role_id=roleId role_code=roleCode emergency=emergency state=state');
CREATE OR REPLACE TRIGGER note_event AFTER INSERT ON sys.review FOR EACH ROW
    EXECUTE FUNCTION sys.note_event('review.opened', '', 'id=reviewId deadline=deadline');
CREATE OR REPLACE TRIGGER note_event AFTER UPDATE OF decision ON sys.review_item FOR EACH ROW
    WHEN (NEW.decision IS DISTINCT FROM OLD.decision AND NEW.decision IS NOT NULL)
    EXECUTE FUNCTION sys.note_event('review.decided', 'user_id',
        'review_id=reviewId id=itemId role_id=roleId role_code=roleCode decision=decision until=until');
CREATE OR REPLACE TRIGGER note_event AFTER INSERT ON sys.policy_revision FOR EACH ROW
    EXECUTE FUNCTION sys.note_event('policy.published', '', 'revision=revision');
CREATE OR REPLACE FUNCTION sys.note_assignments() RETURNS trigger LANGUAGE plpgsql SET timezone TO 'UTC' AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM sys.rights_event_recording) THEN
        RETURN NULL;
    END IF;
    IF TG_OP = 'UPDATE' THEN
        INSERT INTO sys.rights_event_new (kind, user_id, data)
        SELECT 'role.changed', new_rows.user_id, jsonb_build_object(
            'assignmentId', id, 'roleId', role_id, 'roleCode', role_code, 'roleName', role_name,
            'from', new_rows.valid_from, 'until', new_rows.valid_until, 'source', new_rows.source
        )
        FROM old_rows JOIN new_rows USING (id, role_id) JOIN sys.role role (role_id) USING (role_id)
        WHERE (old_rows.valid_from, old_rows.valid_until)
            IS DISTINCT FROM (new_rows.valid_from, new_rows.valid_until)
        ORDER BY id;
    ELSE
        INSERT INTO sys.rights_event_new (kind, user_id, data)
        SELECT 'role.given', user_id, jsonb_build_object(
            'assignmentId', id, 'roleId', role_id, 'roleCode', role_code, 'roleName', role_name,
            'from', valid_from, 'until', valid_until, 'source', source
        )
        FROM new_rows JOIN sys.role role (role_id) USING (role_id)
        ORDER BY id;
    END IF;
    INSERT INTO sys.rights_event_due (assignment_id, due_time)
    SELECT id, valid_from FROM new_rows WHERE valid_from > clock_timestamp()
    ON CONFLICT (assignment_id) DO UPDATE SET due_time = excluded.due_time;
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER note_event_given AFTER INSERT ON sys.user_role REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION sys.note_assignments();
CREATE OR REPLACE TRIGGER note_event_changed AFTER UPDATE ON sys.user_role
    REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION sys.note_assignments();
CREATE OR REPLACE FUNCTION sys.note_ended_assignments() RETURNS trigger
LANGUAGE plpgsql SET timezone TO 'UTC' AS $$
BEGIN
    INSERT INTO sys.rights_event_new (kind, user_id, data)
    SELECT CASE how WHEN 'expired' THEN 'role.ended' ELSE 'role.taken' END, user_id, jsonb_build_object(
        'assignmentId', new_rows.id, 'roleId', new_rows.role_id, 'roleCode', new_rows.role_code,
        'roleName', role_name, 'source', source, 'endTime', end_time
    )
    FROM new_rows LEFT JOIN sys.role ON role.id = new_rows.role_id
    WHERE EXISTS (SELECT FROM sys.rights_event_recording)
    ORDER BY new_rows.id;
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER note_event_ended AFTER INSERT ON sys.ended_assignment
    REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION sys.note_ended_assignments();
CREATE OR REPLACE FUNCTION sys.note_codes_of_roles() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM sys.rights_event_recording) THEN
        RETURN NULL;
    END IF;
    IF TG_OP = 'INSERT' THEN
        PERFORM sys.note_codes_of_role(role_id, role_code,
            array_agg(code ORDER BY code) FILTER (WHERE end_time IS NULL),
            array_agg(code ORDER BY code) FILTER (WHERE end_time IS NOT NULL))
        FROM new_rows WHERE code <> '' GROUP BY role_id, role_code ORDER BY role_id;
    ELSE
        PERFORM sys.note_codes_of_role(role_id, role_code,
            array_agg(code ORDER BY code) FILTER (WHERE new_rows.end_time IS NULL),
            array_agg(code ORDER BY code) FILTER (WHERE new_rows.end_time IS NOT NULL))
        FROM old_rows JOIN new_rows USING (id, role_id, role_code, code)
        WHERE code <> '' AND (old_rows.end_time IS NULL) <> (new_rows.end_time IS NULL)
        GROUP BY role_id, role_code ORDER BY role_id;
    END IF;
    RETURN NULL;
END $$;
CREATE OR REPLACE FUNCTION sys.note_codes_of_role(
    role_id BIGINT, role_code TEXT, added TEXT[], removed TEXT[]
) RETURNS void LANGUAGE sql AS $$
    SELECT sys.record_event('role.codes_changed', NULL, jsonb_build_object(
        'roleId', role_id, 'roleCode', role_code,
        'roleName', (SELECT role_name FROM sys.role WHERE role.id = note_codes_of_role.role_id),
        'added', to_jsonb(coalesce(added[1:100], '{}')), 'addedCount', coalesce(cardinality(added), 0),
        'removed', to_jsonb(coalesce(removed[1:100], '{}')), 'removedCount', coalesce(cardinality(removed), 0)
    ))
$$;
CREATE OR REPLACE TRIGGER note_event_gained AFTER INSERT ON sys.role_code_life
    REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION sys.note_codes_of_roles();
CREATE OR REPLACE TRIGGER note_event_changed AFTER UPDATE ON sys.role_code_life
    REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION sys.note_codes_of_roles()
"""


def upgrade() -> None:
    for statement in (TABLES, TRIGGERS):
        op.execute(statement)
