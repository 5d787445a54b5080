-- The parts of the schema that tables can't say: functions, triggers, a view, and the index for searches. Executed
-- once, after the tables of a new database and after the migration of one that is older than v0066.
-- Databases at v0066 or later have it already: a change here needs a step in service/records/migrations/versions with
-- the same statement. tests/upgrade/test_schemas.py compares both. Each statement replaces what such a step has made.

-- Searches for a part of a text. pg_trgm is trusted: the owner of the database may create it. Where it is not
-- allowed or not installed, lists are the same, and searches read all users.
DO $$
DECLARE
    ops text;
BEGIN
    BEGIN
        CREATE EXTENSION IF NOT EXISTS pg_trgm WITH SCHEMA sys;
    EXCEPTION WHEN insufficient_privilege OR feature_not_supported OR undefined_file THEN
        RAISE NOTICE 'no pg_trgm: lists of users are searched without an index';
        RETURN;
    END;
    SELECT quote_ident(nspname) || '.gin_trgm_ops' INTO STRICT ops
        FROM pg_extension JOIN pg_namespace ON pg_namespace.oid = extnamespace WHERE extname = 'pg_trgm';
    EXECUTE 'CREATE INDEX user_search_idx ON sys."user" USING gin (user_name_key ' || ops
        || ', nick_name_folded ' || ops || ', email_folded ' || ops || ', phone ' || ops || ')';
END $$;

-- Resources: a version without the layer publishes none of its lines, and would open what a demand closes.
CREATE OR REPLACE FUNCTION sys.require_demands() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM sys.resource WHERE assurance IS NOT NULL AND enabled)
        AND NOT EXISTS (SELECT FROM sys.casbin_rule WHERE ptype = 'p' AND v0 = 'assurance')
    THEN
        RAISE EXCEPTION 'the revision has no demands on authentication: publish it by a later version';
    END IF;
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER require_demands AFTER INSERT ON sys.policy_revision
    FOR EACH STATEMENT EXECUTE FUNCTION sys.require_demands();

-- Resources: a version that knows no ends would publish public access that ends as access forever.
CREATE OR REPLACE FUNCTION sys.require_ends() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    ending BIGINT;
BEGIN
    SELECT count(*) INTO ending FROM sys.opening
        LEFT JOIN sys.resource ON resource.id = opening.resource_id
        WHERE opening.end_time IS NOT NULL AND (resource.id IS NULL OR resource.enabled);
    IF ending > 0 AND ending > (
        SELECT count(*) FROM sys.casbin_rule WHERE ptype = 'p' AND v0 = 'resource' AND v2 LIKE '@% until %'
    )
    THEN
        RAISE EXCEPTION 'the revision has no ends of public access: publish it by a later version';
    END IF;
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER require_ends AFTER INSERT ON sys.policy_revision
    FOR EACH STATEMENT EXECUTE FUNCTION sys.require_ends();

-- Assignments: when the window or the reason was last edited.
CREATE OR REPLACE FUNCTION sys.note_edit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.edit_time := clock_timestamp();
    RETURN NEW;
END $$;
CREATE OR REPLACE TRIGGER note_edit BEFORE UPDATE ON sys.user_role FOR EACH ROW
    WHEN ((OLD.valid_from, OLD.valid_until, OLD.reason) IS DISTINCT FROM
        (NEW.valid_from, NEW.valid_until, NEW.reason))
    EXECUTE FUNCTION sys.note_edit();

-- Codes of roles, with the time from when until when each role gave them. All changes of a transaction happen at
-- its beginning, so that a code that is removed and given again goes on, since older versions write all Buttons of
-- a role anew. Only what another transaction has begun since then ends later. The empty code is the role itself.
CREATE OR REPLACE FUNCTION sys.keep_codes_of_roles(concerned BIGINT[]) RETURNS void LANGUAGE sql AS $$
    WITH given AS MATERIALIZED (
        SELECT role.id AS role_id, role.role_code, 0::bigint AS menu_id, ''::text AS code
        FROM sys.role WHERE role.id = ANY (concerned)
        UNION ALL
        SELECT role.id, role.role_code, menu.id, menu.auth_mark
        FROM sys.role
        JOIN sys.role_menu ON role_menu.role_id = role.id
        JOIN sys.menu ON menu.id = role_menu.menu_id
        WHERE role.id = ANY (concerned) AND role.enabled AND menu.menu_type = 'Button' AND menu.enabled
    ), missing AS MATERIALIZED (
        SELECT * FROM given
        WHERE NOT EXISTS (
            SELECT FROM sys.role_code_life life
            WHERE life.end_time IS NULL
                AND (given.role_id, given.role_code, given.menu_id, given.code)
                    = (life.role_id, life.role_code, life.menu_id, life.code)
        )
    ), ended AS (
        UPDATE sys.role_code_life life
        SET end_time = CASE WHEN begin_time > now() THEN clock_timestamp() ELSE now() END
        WHERE life.end_time IS NULL AND life.role_id = ANY (concerned) AND NOT EXISTS (
            SELECT FROM given
            WHERE (given.role_id, given.role_code, given.menu_id, given.code)
                = (life.role_id, life.role_code, life.menu_id, life.code)
        )
    ), resumed AS (
        UPDATE sys.role_code_life life
        SET end_time = NULL
        FROM missing
        WHERE life.end_time = now()
            AND (missing.role_id, missing.role_code, missing.menu_id, missing.code)
                = (life.role_id, life.role_code, life.menu_id, life.code)
        RETURNING life.role_id, life.role_code, life.menu_id, life.code
    )
    INSERT INTO sys.role_code_life (role_id, role_code, menu_id, code, begin_time)
    SELECT missing.role_id, missing.role_code, missing.menu_id, missing.code, now()
    FROM missing
    WHERE (missing.role_id, missing.role_code, missing.menu_id, missing.code)
        NOT IN (SELECT role_id, role_code, menu_id, code FROM resumed)
$$;

-- Codes of roles: triggers, so that versions without the table, and edits by hand, are kept too.
CREATE OR REPLACE FUNCTION sys.role_codes_changed() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE concerned BIGINT[];
BEGIN
    IF TG_OP = 'TRUNCATE' THEN
        concerned := ARRAY (SELECT DISTINCT role_id FROM sys.role_code_life WHERE end_time IS NULL);
    ELSIF TG_TABLE_NAME = 'menu' THEN
        concerned := ARRAY (
            SELECT DISTINCT role_menu.role_id
            FROM old_rows JOIN new_rows USING (id) JOIN sys.role_menu ON role_menu.menu_id = id
            WHERE (old_rows.menu_type, old_rows.auth_mark, old_rows.enabled)
                IS DISTINCT FROM (new_rows.menu_type, new_rows.auth_mark, new_rows.enabled)
        );
    ELSIF TG_TABLE_NAME = 'role' AND TG_OP = 'UPDATE' THEN
        concerned := ARRAY (
            SELECT id FROM old_rows JOIN new_rows USING (id)
            WHERE (old_rows.role_code, old_rows.enabled) <> (new_rows.role_code, new_rows.enabled)
        );
    ELSIF TG_TABLE_NAME = 'role' AND TG_OP = 'INSERT' THEN
        concerned := ARRAY (SELECT id FROM new_rows);
    ELSIF TG_TABLE_NAME = 'role' THEN
        concerned := ARRAY (SELECT id FROM old_rows);
    ELSIF TG_OP = 'INSERT' THEN
        concerned := ARRAY (SELECT DISTINCT role_id FROM new_rows);
    ELSIF TG_OP = 'DELETE' THEN
        concerned := ARRAY (SELECT DISTINCT role_id FROM old_rows);
    ELSE
        concerned := ARRAY (SELECT role_id FROM old_rows UNION SELECT role_id FROM new_rows);
    END IF;
    IF concerned <> '{}' THEN
        PERFORM sys.keep_codes_of_roles(concerned);
    END IF;
    RETURN NULL;
END
$$;
CREATE OR REPLACE TRIGGER codes_insert AFTER INSERT ON sys.role REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION sys.role_codes_changed();
CREATE OR REPLACE TRIGGER codes_update AFTER UPDATE ON sys.role REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION sys.role_codes_changed();
CREATE OR REPLACE TRIGGER codes_delete AFTER DELETE ON sys.role REFERENCING OLD TABLE AS old_rows
    FOR EACH STATEMENT EXECUTE FUNCTION sys.role_codes_changed();
CREATE OR REPLACE TRIGGER codes_truncate AFTER TRUNCATE ON sys.role
    FOR EACH STATEMENT EXECUTE FUNCTION sys.role_codes_changed();
CREATE OR REPLACE TRIGGER codes_insert AFTER INSERT ON sys.role_menu REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION sys.role_codes_changed();
CREATE OR REPLACE TRIGGER codes_update AFTER UPDATE ON sys.role_menu REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION sys.role_codes_changed();
CREATE OR REPLACE TRIGGER codes_delete AFTER DELETE ON sys.role_menu REFERENCING OLD TABLE AS old_rows
    FOR EACH STATEMENT EXECUTE FUNCTION sys.role_codes_changed();
CREATE OR REPLACE TRIGGER codes_truncate AFTER TRUNCATE ON sys.role_menu
    FOR EACH STATEMENT EXECUTE FUNCTION sys.role_codes_changed();
CREATE OR REPLACE TRIGGER codes_update AFTER UPDATE ON sys.menu REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION sys.role_codes_changed();

-- Codes of roles: what the roles of a database that is migrated give is known from now on.
SELECT sys.keep_codes_of_roles(ARRAY (SELECT id FROM sys.role));

-- Erasures: the value without a person, whose names and other values match the pattern. Names of members too.
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
END $$;

-- Erasures: whether an update of a kept row only takes out a person whose erasure runs. Names become the number of the
-- person, the first of them also in the person's own rows; in texts, values of the person become it.
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
$$;

-- Requests for roles: what has ended stays as it ended, whatever writes it.
CREATE OR REPLACE FUNCTION sys.keep_ended_request() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF sys.is_erasure(to_jsonb(OLD), to_jsonb(NEW), 'user_id',
        ARRAY['user_name', 'ended_by'], ARRAY['reason', 'ticket', 'end_reason']) THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'access request % has ended', OLD.id;
END $$;
CREATE OR REPLACE TRIGGER keep_ended_request BEFORE UPDATE ON sys.access_request FOR EACH ROW
    WHEN (OLD.state <> 'pending') EXECUTE FUNCTION sys.keep_ended_request();

-- Requests for roles end with their authors: by the API, a table, a command, or an older version.
CREATE OR REPLACE FUNCTION sys.end_requests_of_author() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    author BIGINT;
BEGIN
    IF TG_TABLE_NAME = 'user_ban' THEN
        author := NEW.user_id;
    ELSE
        author := OLD.id;
    END IF;
    -- What has expired before stays so, also where nobody has stored it yet.
    UPDATE sys.access_request SET state = 'expired', end_time = deadline, version = version + 1
        WHERE user_id = author AND state = 'pending' AND NOT complete AND deadline <= clock_timestamp();
    UPDATE sys.access_request
        SET state = 'failed', end_time = clock_timestamp(), version = version + 1,
            end_reason = 'Its author was disabled, banned or deleted'
        WHERE user_id = author AND state = 'pending';
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER end_requests_of_author AFTER UPDATE OF status ON sys."user" FOR EACH ROW
    WHEN (NEW.status = 'disabled' AND OLD.status <> 'disabled') EXECUTE FUNCTION sys.end_requests_of_author();
CREATE OR REPLACE TRIGGER end_requests_of_deleted AFTER DELETE ON sys."user" FOR EACH ROW
    EXECUTE FUNCTION sys.end_requests_of_author();
CREATE OR REPLACE TRIGGER end_requests_of_author AFTER INSERT OR UPDATE ON sys.user_ban FOR EACH ROW
    EXECUTE FUNCTION sys.end_requests_of_author();

-- API keys of people end with their owner's access: by the API, a table, a command, or an older version. Also with a
-- password that somebody else has set.
CREATE OR REPLACE FUNCTION sys.end_personal_keys() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    owner BIGINT;
BEGIN
    IF TG_TABLE_NAME = 'user_ban' THEN
        owner := NEW.user_id;
    ELSE
        owner := NEW.id;
    END IF;
    DELETE FROM sys.api_key USING sys."user"
        WHERE api_key.user_id = owner AND "user".id = owner AND "user".kind = 'person';
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER end_personal_keys AFTER UPDATE OF status ON sys."user" FOR EACH ROW
    WHEN (NEW.status = 'disabled' AND OLD.status <> 'disabled') EXECUTE FUNCTION sys.end_personal_keys();
CREATE OR REPLACE TRIGGER end_personal_keys_by_password AFTER UPDATE OF password_initial ON sys."user"
    FOR EACH ROW WHEN (NEW.password_initial = 'given') EXECUTE FUNCTION sys.end_personal_keys();
CREATE OR REPLACE TRIGGER end_personal_keys AFTER INSERT OR UPDATE ON sys.user_ban FOR EACH ROW
    EXECUTE FUNCTION sys.end_personal_keys();

-- Delegations to agents end with the access of their person, and an agent is suspended with that of its owner.
CREATE OR REPLACE FUNCTION sys.end_delegations() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    leaving BIGINT;
BEGIN
    IF TG_TABLE_NAME = 'user_ban' THEN
        leaving := NEW.user_id;
    ELSE
        leaving := NEW.id;
    END IF;
    DELETE FROM sys.delegation WHERE user_id = leaving;
    IF TG_NAME <> 'end_delegations_by_password' THEN
        UPDATE sys.agent SET suspended = true WHERE owner_id = leaving AND NOT suspended;
    END IF;
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER end_delegations AFTER UPDATE OF status ON sys."user" FOR EACH ROW
    WHEN (NEW.status = 'disabled' AND OLD.status <> 'disabled') EXECUTE FUNCTION sys.end_delegations();
CREATE OR REPLACE TRIGGER end_delegations_by_password AFTER UPDATE OF password_initial ON sys."user"
    FOR EACH ROW WHEN (NEW.password_initial = 'given') EXECUTE FUNCTION sys.end_delegations();
CREATE OR REPLACE TRIGGER end_delegations AFTER INSERT OR UPDATE ON sys.user_ban FOR EACH ROW
    EXECUTE FUNCTION sys.end_delegations();

-- Reviews: nothing changes in a review that is closed, and what an item is about never does.
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
END $$;
CREATE OR REPLACE TRIGGER keep_closed_review BEFORE UPDATE OR DELETE ON sys.review FOR EACH ROW
    EXECUTE FUNCTION sys.keep_closed_review();
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
END $$;
CREATE OR REPLACE TRIGGER keep_review_item BEFORE INSERT OR UPDATE OR DELETE ON sys.review_item FOR EACH ROW
    EXECUTE FUNCTION sys.keep_review_item();
CREATE OR REPLACE FUNCTION sys.keep_sign_off() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND sys.is_erasure(to_jsonb(OLD), to_jsonb(NEW), 'user_id',
        ARRAY['user_name'], ARRAY['note', 'title']) THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'sign-off % is kept as it is', OLD.id;
END $$;
CREATE OR REPLACE TRIGGER keep_sign_off BEFORE UPDATE OR DELETE ON sys.policy_sign_off FOR EACH ROW
    EXECUTE FUNCTION sys.keep_sign_off();

-- Followers: which transaction has changed each user, role and API key last. In the order of ids, so that two
-- transactions never wait for one another in a circle.
CREATE OR REPLACE FUNCTION sys.note_rights(noun TEXT, concerned BIGINT[]) RETURNS void LANGUAGE sql AS $$
    INSERT INTO sys.rights_change AS kept
    SELECT noun, concerned_id, pg_current_xact_id()::text::bigint
    FROM (SELECT DISTINCT unnest(concerned) AS concerned_id ORDER BY 1) AS ordered
    ON CONFLICT (noun, id) DO UPDATE SET transaction = excluded.transaction
    WHERE kept.transaction <> excluded.transaction
$$;

-- Followers: triggers, so that older versions and edits by hand are followed too. After a TRUNCATE all is new.
CREATE OR REPLACE FUNCTION sys.rights_changed() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE concerned BIGINT[];
BEGIN
    IF TG_OP = 'TRUNCATE' THEN
        PERFORM sys.note_rights('all', ARRAY [0]);
    ELSIF TG_LEVEL = 'ROW' THEN
        PERFORM sys.note_rights(TG_ARGV[0], ARRAY [(to_jsonb(coalesce(NEW, OLD)) ->> TG_ARGV[1])::bigint]);
    ELSE
        IF TG_OP IN ('INSERT', 'UPDATE') THEN
            EXECUTE format('SELECT array_agg(%I) FROM new_rows', TG_ARGV[1]) INTO concerned;
        END IF;
        IF TG_OP IN ('DELETE', 'UPDATE') THEN
            EXECUTE format('SELECT $1 || array_agg(%I) FROM old_rows', TG_ARGV[1])
                INTO concerned USING concerned;
        END IF;
        IF concerned <> '{}' THEN
            PERFORM sys.note_rights(TG_ARGV[0], concerned);
        END IF;
    END IF;
    RETURN NULL;
END
$$;
CREATE OR REPLACE TRIGGER rights_insert AFTER INSERT ON sys.user_role
    REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION sys.rights_changed('user', 'user_id');
CREATE OR REPLACE TRIGGER rights_update AFTER UPDATE ON sys.user_role
    REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION sys.rights_changed('user', 'user_id');
CREATE OR REPLACE TRIGGER rights_delete AFTER DELETE ON sys.user_role
    REFERENCING OLD TABLE AS old_rows
    FOR EACH STATEMENT EXECUTE FUNCTION sys.rights_changed('user', 'user_id');
CREATE OR REPLACE TRIGGER rights_insert AFTER INSERT ON sys.role_code_life
    REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION sys.rights_changed('role', 'role_id');
CREATE OR REPLACE TRIGGER rights_update AFTER UPDATE ON sys.role_code_life
    REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION sys.rights_changed('role', 'role_id');
CREATE OR REPLACE TRIGGER rights_delete AFTER DELETE ON sys.role_code_life
    REFERENCING OLD TABLE AS old_rows
    FOR EACH STATEMENT EXECUTE FUNCTION sys.rights_changed('role', 'role_id');
CREATE OR REPLACE TRIGGER rights_row AFTER INSERT OR DELETE OR UPDATE OF status, kind, service, user_name, user_name_key
    ON sys."user" FOR EACH ROW EXECUTE FUNCTION sys.rights_changed('user', 'id');
CREATE OR REPLACE TRIGGER rights_row AFTER INSERT OR DELETE OR UPDATE OF user_id, until
    ON sys.user_ban FOR EACH ROW EXECUTE FUNCTION sys.rights_changed('user', 'user_id');
CREATE OR REPLACE TRIGGER rights_row AFTER INSERT OR DELETE OR UPDATE OF user_id, scopes, expire_time
    ON sys.api_key FOR EACH ROW EXECUTE FUNCTION sys.rights_changed('key', 'id');
CREATE OR REPLACE TRIGGER rights_row AFTER INSERT OR DELETE OR UPDATE OF user_id, owner_id, enabled, suspended
    ON sys.agent FOR EACH ROW EXECUTE FUNCTION sys.rights_changed('user', 'user_id');
CREATE OR REPLACE TRIGGER rights_insert AFTER INSERT ON sys.delegation
    REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION sys.rights_changed('user', 'user_id');
CREATE OR REPLACE TRIGGER rights_update AFTER UPDATE ON sys.delegation
    REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION sys.rights_changed('user', 'user_id');
CREATE OR REPLACE TRIGGER rights_delete AFTER DELETE ON sys.delegation
    REFERENCING OLD TABLE AS old_rows
    FOR EACH STATEMENT EXECUTE FUNCTION sys.rights_changed('user', 'user_id');
CREATE OR REPLACE TRIGGER rights_truncate AFTER TRUNCATE ON sys.user_role
    FOR EACH STATEMENT EXECUTE FUNCTION sys.rights_changed();
CREATE OR REPLACE TRIGGER rights_truncate AFTER TRUNCATE ON sys.role_code_life
    FOR EACH STATEMENT EXECUTE FUNCTION sys.rights_changed();
CREATE OR REPLACE TRIGGER rights_truncate AFTER TRUNCATE ON sys."user"
    FOR EACH STATEMENT EXECUTE FUNCTION sys.rights_changed();
CREATE OR REPLACE TRIGGER rights_truncate AFTER TRUNCATE ON sys.user_ban
    FOR EACH STATEMENT EXECUTE FUNCTION sys.rights_changed();
CREATE OR REPLACE TRIGGER rights_truncate AFTER TRUNCATE ON sys.api_key
    FOR EACH STATEMENT EXECUTE FUNCTION sys.rights_changed();
CREATE OR REPLACE TRIGGER rights_truncate AFTER TRUNCATE ON sys.agent
    FOR EACH STATEMENT EXECUTE FUNCTION sys.rights_changed();
CREATE OR REPLACE TRIGGER rights_truncate AFTER TRUNCATE ON sys.delegation
    FOR EACH STATEMENT EXECUTE FUNCTION sys.rights_changed();

-- Events about rights: recorded in the transaction of their cause, whatever writes it, while the feature is on.
CREATE OR REPLACE FUNCTION sys.record_event(kind TEXT, user_id BIGINT, data JSONB) RETURNS void
LANGUAGE sql AS $$
    INSERT INTO sys.rights_event_new (kind, user_id, data)
    SELECT kind, user_id, data WHERE EXISTS (SELECT FROM sys.rights_event_recording)
$$;

-- Events about rights: one of a row. The arguments are the kind, the column of the user, and the columns of the data
-- with their names there. A deleted user has no further events: the deletion includes them.
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
CREATE OR REPLACE TRIGGER note_event_made AFTER INSERT ON sys.delegation FOR EACH ROW
    EXECUTE FUNCTION sys.note_event('delegation.made', 'user_id',
        'id=delegationId agent_id=agentId codes=codes services=services until=until');
CREATE OR REPLACE TRIGGER note_event_ended AFTER DELETE ON sys.delegation FOR EACH ROW
    EXECUTE FUNCTION sys.note_event('delegation.ended', 'user_id',
        'id=delegationId agent_id=agentId until=until');
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

-- Events about rights: assignments, many at once. Those that begin later are noted for the job that records it.
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

-- Events about rights: assignments that have ended, by themselves or by an edit.
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

-- Events about rights: codes that a role has gained or lost. An event names a hundred of them, and their number.
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
    FOR EACH STATEMENT EXECUTE FUNCTION sys.note_codes_of_roles();

-- The least version: the forms of rows that older versions would misread, of those that are there.
CREATE OR REPLACE VIEW sys.needed_version AS
SELECT '0.3.0' AS version, form FROM (VALUES
    ('assignments with a beginning or an end', EXISTS (SELECT FROM sys.user_role
        WHERE valid_from IS NOT NULL) OR EXISTS (SELECT FROM sys.user_role WHERE valid_until IS NOT NULL)),
    ('second factors', EXISTS (SELECT FROM sys.user_factor
        WHERE kind <> 'recovery_codes' AND confirm_time IS NOT NULL)),
    ('initial passwords', EXISTS (SELECT FROM sys."user" WHERE password_initial IS NOT NULL)),
    ('rules of requests for access', EXISTS (SELECT FROM sys.request_rule)),
    ('open reviews', EXISTS (SELECT FROM sys.review WHERE state <> 'closed')),
    ('demands on authentication', EXISTS (SELECT FROM sys.resource
        WHERE assurance IS NOT NULL AND enabled)),
    ('public access with an end', EXISTS (SELECT FROM sys.opening WHERE end_time IS NOT NULL))
) AS forms (form, present) WHERE present
UNION ALL SELECT '0.4.0', 'API keys of people' WHERE EXISTS (SELECT FROM sys.api_key
    JOIN sys."user" ON "user".id = api_key.user_id AND "user".kind = 'person')
UNION ALL SELECT '0.4.0', 'delegations to agents' WHERE EXISTS (SELECT FROM sys.delegation);
CREATE OR REPLACE FUNCTION sys.version_numbers(version TEXT) RETURNS int[] LANGUAGE sql IMMUTABLE AS $$
    SELECT string_to_array(substring(version FROM '^[0-9]+(?:\.[0-9]+)*'), '.')::int[]
$$;
CREATE OR REPLACE FUNCTION sys.needed_least_version() RETURNS text LANGUAGE sql VOLATILE AS $$
    SELECT version FROM (
        SELECT schema_version AS version FROM sys.schema_support
        UNION ALL SELECT version FROM sys.needed_version
    ) AS versions WHERE version IS NOT NULL ORDER BY sys.version_numbers(version) DESC LIMIT 1
$$;

-- The least version: transactions that add rows share a lock on it until they commit. Only a transaction that is
-- alone may lower it: the rows of another one, which can't be seen yet, might need it.
CREATE OR REPLACE FUNCTION sys.settle_least_version(adds BOOLEAN) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    stored TEXT;
    needed TEXT;
BEGIN
    IF adds THEN
        PERFORM FROM sys.schema_support FOR KEY SHARE;
    END IF;
    SELECT least_version INTO stored FROM sys.schema_support;
    needed := sys.needed_least_version();
    IF stored IS NULL OR stored = needed THEN
        RETURN;
    END IF;
    IF sys.version_numbers(needed) < sys.version_numbers(stored) THEN
        PERFORM FROM sys.schema_support FOR UPDATE SKIP LOCKED;
        IF NOT FOUND OR current_setting('transaction_isolation') <> 'read committed' THEN
            RETURN;
        END IF;
        needed := sys.needed_least_version();
    END IF;
    UPDATE sys.schema_support SET least_version = needed;
END $$;
CREATE OR REPLACE FUNCTION sys.rows_need_version() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM sys.settle_least_version(TG_OP IN ('INSERT', 'UPDATE'));
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER need_version_change AFTER INSERT OR DELETE OR UPDATE OF valid_from, valid_until
    ON sys.user_role FOR EACH STATEMENT EXECUTE FUNCTION sys.rows_need_version();
CREATE OR REPLACE TRIGGER need_version_truncate AFTER TRUNCATE ON sys.user_role
    FOR EACH STATEMENT EXECUTE FUNCTION sys.rows_need_version();
CREATE OR REPLACE TRIGGER need_version_change AFTER INSERT OR DELETE OR UPDATE OF kind, confirm_time
    ON sys.user_factor FOR EACH STATEMENT EXECUTE FUNCTION sys.rows_need_version();
CREATE OR REPLACE TRIGGER need_version_truncate AFTER TRUNCATE ON sys.user_factor
    FOR EACH STATEMENT EXECUTE FUNCTION sys.rows_need_version();
CREATE OR REPLACE TRIGGER need_version_change AFTER INSERT OR DELETE OR UPDATE OF password_initial
    ON sys."user" FOR EACH STATEMENT EXECUTE FUNCTION sys.rows_need_version();
CREATE OR REPLACE TRIGGER need_version_truncate AFTER TRUNCATE ON sys."user"
    FOR EACH STATEMENT EXECUTE FUNCTION sys.rows_need_version();
CREATE OR REPLACE TRIGGER need_version_change AFTER INSERT OR DELETE OR UPDATE OF role_id
    ON sys.request_rule FOR EACH STATEMENT EXECUTE FUNCTION sys.rows_need_version();
CREATE OR REPLACE TRIGGER need_version_truncate AFTER TRUNCATE ON sys.request_rule
    FOR EACH STATEMENT EXECUTE FUNCTION sys.rows_need_version();
CREATE OR REPLACE TRIGGER need_version_change AFTER INSERT OR DELETE OR UPDATE OF state
    ON sys.review FOR EACH STATEMENT EXECUTE FUNCTION sys.rows_need_version();
CREATE OR REPLACE TRIGGER need_version_truncate AFTER TRUNCATE ON sys.review
    FOR EACH STATEMENT EXECUTE FUNCTION sys.rows_need_version();
CREATE OR REPLACE TRIGGER need_version_change AFTER INSERT OR DELETE OR UPDATE OF assurance, enabled
    ON sys.resource FOR EACH STATEMENT EXECUTE FUNCTION sys.rows_need_version();
CREATE OR REPLACE TRIGGER need_version_truncate AFTER TRUNCATE ON sys.resource
    FOR EACH STATEMENT EXECUTE FUNCTION sys.rows_need_version();
CREATE OR REPLACE TRIGGER need_version_change AFTER INSERT OR DELETE OR UPDATE OF end_time
    ON sys.opening FOR EACH STATEMENT EXECUTE FUNCTION sys.rows_need_version();
CREATE OR REPLACE TRIGGER need_version_truncate AFTER TRUNCATE ON sys.opening
    FOR EACH STATEMENT EXECUTE FUNCTION sys.rows_need_version();
CREATE OR REPLACE TRIGGER need_version_change AFTER INSERT OR DELETE OR UPDATE OF user_id
    ON sys.api_key FOR EACH STATEMENT EXECUTE FUNCTION sys.rows_need_version();
CREATE OR REPLACE TRIGGER need_version_truncate AFTER TRUNCATE ON sys.api_key
    FOR EACH STATEMENT EXECUTE FUNCTION sys.rows_need_version();
CREATE OR REPLACE TRIGGER need_version_change AFTER INSERT OR DELETE
    ON sys.delegation FOR EACH STATEMENT EXECUTE FUNCTION sys.rows_need_version();
CREATE OR REPLACE TRIGGER need_version_truncate AFTER TRUNCATE ON sys.delegation
    FOR EACH STATEMENT EXECUTE FUNCTION sys.rows_need_version();
