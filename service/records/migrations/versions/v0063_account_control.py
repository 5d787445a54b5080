"""Who stands behind whom: one relation in place of who made, took over or was kept from what."""

from __future__ import annotations

from alembic import op

revision = "v0063"
down_revision = "v0062"
kind = "expand"
least_version = "0.2.0"

TABLES = """
CREATE TABLE sys.account_control (
    holder_id BIGINT NOT NULL CONSTRAINT account_control_holder_id_check CHECK (holder_id <> account_id),
    account_id BIGINT NOT NULL,
    act TEXT NOT NULL CONSTRAINT account_control_act_check
        CHECK (act IN ('made', 'password', 'address', 'factor', 'key', 'hand_over', 'link', 'take_over')),
    act_time TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT account_control_pkey PRIMARY KEY (holder_id, account_id, act)
);
CREATE INDEX account_control_account_id_idx ON sys.account_control (account_id);
CREATE INDEX account_control_act_time_idx ON sys.account_control (act_time);
CREATE TABLE sys.access_request_appointee (
    request_id BIGINT NOT NULL,
    user_id BIGINT NOT NULL,
    create_time TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT access_request_appointee_pkey PRIMARY KEY (request_id, user_id),
    CONSTRAINT access_request_appointee_request_id_fkey
        FOREIGN KEY (request_id) REFERENCES sys.access_request (id) ON DELETE CASCADE
);
CREATE INDEX access_request_appointee_user_id_idx ON sys.access_request_appointee (user_id);
ALTER TABLE sys.directory_account ADD COLUMN linked_by BIGINT[];
ALTER TABLE sys.policy_revision ADD COLUMN author_ids BIGINT[];
"""
# What was known: who made accounts and gave them their first way in, keys, links that were handed over, and
# takeovers, whose times were kept for requests only. A directory stands behind nobody.
KNOWN = """
INSERT INTO sys.account_control (holder_id, account_id, act, act_time)
SELECT holder_id, account_id, act, max(act_time) FROM (
    SELECT made_by, id, 'made', create_time FROM sys."user"
    WHERE made_by IS NOT NULL AND (password_hash IS NOT NULL OR kind = 'service')
        AND NOT EXISTS (SELECT FROM sys.directory_account WHERE user_id = "user".id AND managed)
    UNION ALL
    SELECT created_by, user_id, 'key', create_time FROM sys.api_key
    UNION ALL
    SELECT created_by, user_id, 'link', create_time FROM sys.account_token
    WHERE purpose = 'invitation' AND email IS NULL AND created_by IS NOT NULL AND expires_time > now()
    UNION ALL
    SELECT by_id, review_takeover.user_id, 'take_over', now() FROM sys.review_takeover
    UNION ALL
    SELECT request.user_id, kept.user_id, 'take_over', kept.create_time
    FROM sys.access_request_exclusion AS kept JOIN sys.access_request AS request ON request.id = request_id
    WHERE why = 'credentials'
) AS known (holder_id, account_id, act, act_time)
WHERE holder_id <> account_id GROUP BY holder_id, account_id, act
"""
APPOINTED = """
INSERT INTO sys.access_request_appointee (request_id, user_id, create_time)
SELECT request_id, user_id, create_time FROM sys.access_request_exclusion WHERE why = 'codes'
"""
# Whoever stood behind an account by now could have linked it.
LINKED = """
UPDATE sys.directory_account SET linked_by = ARRAY (
    SELECT DISTINCT holder_id FROM sys.account_control WHERE account_id = user_id ORDER BY holder_id
)
"""
# No release has had them.
GONE = """
DROP TABLE sys.access_request_exclusion;
DROP TABLE sys.review_takeover;
"""


def upgrade() -> None:
    """Take the step."""
    for statement in (TABLES, KNOWN, APPOINTED, LINKED, GONE):
        op.execute(statement)
