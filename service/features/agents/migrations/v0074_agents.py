"""Agents, delegations to agents, approvals of single calls, and their end with the access of people."""

from alembic import op

revision = "v0074"
down_revision = "v0073"
kind = "expand"
least_version = "0.2.0"

TABLES = """
CREATE TABLE sys.agent (
    user_id BIGINT NOT NULL,
    owner_id BIGINT,
    enabled BOOLEAN DEFAULT true NOT NULL,
    suspended BOOLEAN DEFAULT false NOT NULL,
    created_by BIGINT NOT NULL,
    create_time TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT agent_pkey PRIMARY KEY (user_id),
    CONSTRAINT agent_user_id_fkey FOREIGN KEY (user_id) REFERENCES sys."user" (id) ON DELETE CASCADE,
    CONSTRAINT agent_owner_id_fkey FOREIGN KEY (owner_id) REFERENCES sys."user" (id) ON DELETE SET NULL
);
CREATE INDEX agent_owner_id_idx ON sys.agent (owner_id);
CREATE TABLE sys.agent_switch (
    id INTEGER DEFAULT 1 NOT NULL,
    enabled BOOLEAN NOT NULL,
    update_time TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT agent_switch_pkey PRIMARY KEY (id),
    CONSTRAINT agent_switch_id_check CHECK (id = 1)
);
CREATE TABLE sys.delegation (
    id BIGINT GENERATED ALWAYS AS IDENTITY,
    user_id BIGINT NOT NULL,
    agent_id BIGINT NOT NULL,
    codes TEXT[] NOT NULL,
    ask_me TEXT[] DEFAULT '{}' NOT NULL,
    services TEXT[] NOT NULL,
    until TIMESTAMP WITH TIME ZONE NOT NULL,
    create_time TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT delegation_pkey PRIMARY KEY (id),
    CONSTRAINT delegation_user_id_fkey FOREIGN KEY (user_id) REFERENCES sys."user" (id) ON DELETE CASCADE,
    CONSTRAINT delegation_agent_id_fkey FOREIGN KEY (agent_id)
        REFERENCES sys.agent (user_id) ON DELETE CASCADE
);
CREATE INDEX delegation_user_id_idx ON sys.delegation (user_id);
CREATE INDEX delegation_agent_id_idx ON sys.delegation (agent_id);
CREATE INDEX delegation_until_idx ON sys.delegation (until);
CREATE TABLE sys.agent_approval (
    id BIGINT GENERATED ALWAYS AS IDENTITY,
    delegation_id BIGINT NOT NULL,
    method TEXT NOT NULL,
    path TEXT NOT NULL,
    query TEXT NOT NULL,
    digest BYTEA NOT NULL,
    body TEXT,
    state TEXT DEFAULT 'pending' NOT NULL,
    until TIMESTAMP WITH TIME ZONE NOT NULL,
    create_time TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT agent_approval_pkey PRIMARY KEY (id),
    CONSTRAINT agent_approval_delegation_id_fkey FOREIGN KEY (delegation_id)
        REFERENCES sys.delegation (id) ON DELETE CASCADE,
    CONSTRAINT agent_approval_digest_check CHECK (octet_length(digest) = 32),
    CONSTRAINT agent_approval_state_check CHECK (state IN ('pending', 'once', 'always', 'used', 'refused'))
);
CREATE INDEX agent_approval_delegation_id_idx ON sys.agent_approval (delegation_id);
"""
ENDS = """
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
    EXECUTE FUNCTION sys.end_delegations()
"""


def upgrade() -> None:
    for statement in (TABLES, ENDS):
        op.execute(statement)
