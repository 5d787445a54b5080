"""Accounts: passwords, last logins, addresses, links that owners are sent, and who controls which account."""

from alembic import op

revision = "v0065b"
down_revision = "v0065a"
kind = "expand"
least_version = "0.2.0"

# A person who is invited has no password yet. Versions before read none as a password that nothing matches.
USERS = """
ALTER TABLE sys."user"
    DROP CONSTRAINT user_password_hash_check,
    ADD COLUMN password_time TIMESTAMP WITH TIME ZONE,
    ADD COLUMN password_initial TEXT
        CONSTRAINT user_password_initial_check CHECK (password_initial IN ('given', 'leaked')),
    ADD COLUMN recovery_email TEXT
        CONSTRAINT user_password_hash_check CHECK (kind = 'person' OR password_hash IS NULL),
    ADD COLUMN agreed_email TEXT,
    ADD COLUMN reached_email TEXT,
    ADD COLUMN made_by BIGINT;
CREATE INDEX user_made_by_idx ON sys."user" (made_by);
CREATE INDEX user_password_initial_idx ON sys."user" (id) WHERE password_initial IS NOT NULL;
"""
# Until now, any edit of the first administrator counted as a new password; such an edit still counts.
ADMINISTRATOR = """
UPDATE sys."user" SET password_time = update_time
    WHERE user_name_key = 'admin' AND update_time <> create_time;
"""
LAST_LOGINS = """
CREATE TABLE sys.user_login (
    user_id BIGINT NOT NULL,
    last_login_time TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT user_login_pkey PRIMARY KEY (user_id)
);
"""
# Only the logins of the last month: a start must not read years of the log.
LOGINS = """
INSERT INTO sys.user_login (user_id, last_login_time)
    SELECT user_id, max(create_time) FROM sys.login_log
    WHERE event = 'login' AND outcome = 'success' AND create_time > now() - interval '31 days'
        AND user_id IN (SELECT id FROM sys."user")
    GROUP BY user_id;
"""
TOKENS = """
CREATE TABLE sys.account_token (
    digest BYTEA NOT NULL,
    purpose TEXT NOT NULL,
    user_id BIGINT NOT NULL,
    email TEXT,
    expires_time TIMESTAMP WITH TIME ZONE NOT NULL,
    wrong INTEGER DEFAULT 0 NOT NULL,
    created_by BIGINT,
    create_time TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT account_token_pkey PRIMARY KEY (digest),
    CONSTRAINT account_token_user_id_fkey FOREIGN KEY (user_id) REFERENCES sys."user" (id) ON DELETE CASCADE,
    CONSTRAINT account_token_digest_check CHECK (octet_length(digest) = 32),
    CONSTRAINT account_token_purpose_check CHECK (purpose IN
        ('invitation', 'password_reset', 'address', 'end_sessions'))
);
CREATE UNIQUE INDEX account_token_latest_key ON sys.account_token (user_id, purpose)
    WHERE purpose <> 'end_sessions';
CREATE INDEX account_token_user_id_idx ON sys.account_token (user_id);
CREATE INDEX account_token_expires_time_idx ON sys.account_token (expires_time);
"""
UNDO = """
CREATE TABLE sys.address_undo (
    digest BYTEA NOT NULL,
    user_id BIGINT NOT NULL,
    email TEXT NOT NULL,
    expires_time TIMESTAMP WITH TIME ZONE NOT NULL,
    create_time TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT address_undo_pkey PRIMARY KEY (digest),
    CONSTRAINT address_undo_digest_check CHECK (octet_length(digest) = 32),
    CONSTRAINT address_undo_email_check CHECK (email <> ''),
    CONSTRAINT address_undo_user_id_fkey FOREIGN KEY (user_id) REFERENCES sys."user" (id) ON DELETE CASCADE
);
CREATE INDEX address_undo_user_id_idx ON sys.address_undo (user_id);
CREATE INDEX address_undo_expires_time_idx ON sys.address_undo (expires_time);
"""
REQUESTS = """
CREATE TABLE sys.reset_request (
    user_name_key TEXT NOT NULL,
    client_ip TEXT NOT NULL,
    create_time TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT reset_request_pkey PRIMARY KEY (user_name_key)
);
"""
CONTROL = """
CREATE TABLE sys.account_control (
    holder_id BIGINT NOT NULL CONSTRAINT account_control_holder_id_check CHECK (holder_id <> account_id),
    account_id BIGINT NOT NULL,
    act TEXT NOT NULL CONSTRAINT account_control_act_check
        CHECK (act IN ('made', 'password', 'address', 'factor', 'key', 'hand_over', 'link', 'take_over')),
    act_time TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    end_time TIMESTAMP WITH TIME ZONE,
    CONSTRAINT account_control_pkey PRIMARY KEY (holder_id, account_id, act)
);
CREATE INDEX account_control_account_id_idx ON sys.account_control (account_id);
CREATE INDEX account_control_act_time_idx ON sys.account_control (act_time);
"""
# Until now only the creators of API keys were known.
KNOWN = """
INSERT INTO sys.account_control (holder_id, account_id, act, act_time)
SELECT created_by, user_id, 'key', max(create_time) FROM sys.api_key
WHERE created_by <> user_id GROUP BY created_by, user_id
"""


def upgrade() -> None:
    for statement in (USERS, ADMINISTRATOR, LAST_LOGINS, LOGINS, TOKENS, UNDO, REQUESTS, CONTROL, KNOWN):
        op.execute(statement)
