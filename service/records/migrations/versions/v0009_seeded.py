"""What the service has seeded: a newer version brings what is new, and never again what was deleted."""

from alembic import op

revision = "v0009"
down_revision = "v0008"

_TABLE = """
CREATE TABLE sys.seeded (
    kind text NOT NULL CONSTRAINT seeded_kind_check CHECK (kind IN ('menu', 'button', 'resource')),
    code text NOT NULL,
    create_time timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT seeded_pkey PRIMARY KEY (kind, code)
);
"""

# What every version before this one has seeded. What of it is missing from a database was deleted there.
_MENUS = "system user role menu resource policy online operation-log login-log file"
_BUTTONS = """
file:delete file:download file:list file:share file:upload login-log:export login-log:list
menu:create menu:delete menu:list menu:update online:ban online:kick online:list operation-
log:detail operation-log:export operation-log:list policy:read policy:reload resource:bind
resource:create resource:delete resource:list resource:update role:create role:delete role:export
role:import role:list role:permission role:update user:create user:delete user:detail user:export
user:import user:list user:reset-password user:update
"""
_RESOURCES = """
user.info user.list user.detail user.export user.create role.list role.create role.update role.delete
menu.list resource.list policy.read
"""
_WILDCARDS = ("*", "system:*")

_SEEDED = """
INSERT INTO sys.seeded (kind, code)
SELECT '{kind}', code FROM unnest(ARRAY[{codes}]) AS code
WHERE EXISTS (SELECT FROM sys."user") OR EXISTS (SELECT FROM sys.role) OR EXISTS (SELECT FROM sys.menu)
"""


def upgrade() -> None:
    op.execute(_TABLE)
    buttons = (*_WILDCARDS, *(f"system:{code}" for code in _BUTTONS.split()))
    for kind, codes in (("menu", _MENUS.split()), ("button", buttons), ("resource", _RESOURCES.split())):
        op.execute(_SEEDED.format(kind=kind, codes=", ".join(f"'{code}'" for code in codes)))
